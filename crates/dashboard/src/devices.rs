//! `/devices`: lists and ends the user's sessions.

use crate::{
    context::Exchange,
    date::Date,
    form::Form,
    page::{self, Answer, Frame, Here, see_other},
    visitor::Visitor,
};
use askama::Template;
use companion_domain::session::{Session, TokenHash};
use companion_http::{ApiError, audit::Audit, audited_end, deadline::change};
use std::{cmp::Reverse, sync::Arc};
use url::form_urlencoded::Serializer;

#[derive(Template)]
#[template(path = "devices.html")]
struct DevicesPage<'a> {
    frame: Frame<'a>,
    form_token: String,
    /// What the last action did.
    message: Option<String>,
    devices: Vec<DeviceView>,
}

/// A session of the user.
struct DeviceView {
    id: String,
    this: bool,
    /// Browser and system, if known.
    name: Option<String>,
    first_seen: Date,
    last_seen: Date,
    ends: Date,
}

pub(crate) async fn list(visitor: Visitor) -> Answer {
    let (own, context) = (visitor.session.id, &visitor.exchange.context);
    let now = context.clock.now();
    let view = |session: &Session| DeviceView {
        id: session.id.to_string(),
        this: session.id == own,
        name: name_of(session),
        first_seen: Date::of(session.created_at, now),
        last_seen: Date::of(session.last_seen_at.min(now), now),
        ends: Date::of(context.use_cases.sessions.ends_at(session), now),
    };
    let mut sessions = sessions_of(&visitor).await?;
    // The current session first, then the most recently used.
    sessions.sort_by_key(|session| (session.id != own, Reverse(session.last_seen_at)));
    page::show(&DevicesPage {
        frame: context.frame("Devices", Here::Devices, visitor.navigation()),
        form_token: visitor.form_token(),
        message: message(&visitor.exchange),
        devices: sessions.iter().map(view).collect(),
    })
}

/// Ends one of the user's own sessions. Succeeds if it has already ended.
pub(crate) async fn end(visitor: Visitor, form: Form) -> Answer {
    let Exchange { context, request } = &visitor.exchange;
    let id: Option<TokenHash> = form.get("id").parse().ok();
    let own = sessions_of(&visitor).await?.into_iter().find(|session| Some(session.id) == id);
    let ended = own.as_ref().and_then(name_of).unwrap_or_default();
    if let Some(session) = own {
        let sessions = Arc::clone(&context.use_cases.sessions);
        let audit = Audit::of(request, "revoke_session").user(session.user);
        let work = async move {
            audited_end(&audit, sessions.revoke(&session.id).await.map(|ended| ended.into_iter().collect()))
        };
        change(&context.storage_limiter, request, work).await?;
    }
    if id == Some(visitor.session.id) {
        return context.without_session("here");
    }
    let ended = Serializer::new(String::new()).append_pair("ended", &ended).finish();
    see_other(&format!("/devices?{ended}"))
}

/// Ends all sessions of the user, including this one.
pub(crate) async fn end_all(visitor: Visitor, _: Form) -> Answer {
    let (user, Exchange { context, request }) = (visitor.user(), &visitor.exchange);
    let sessions = Arc::clone(&context.use_cases.sessions);
    let audit = Audit::of(request, "revoke_user").user(user);
    let work = async move { audited_end(&audit, sessions.revoke_user(user).await) };
    change(&context.storage_limiter, request, work).await?;
    context.without_session("everywhere")
}

/// Returns what the last action did. Only names that this service gives are repeated from the address.
fn message(exchange: &Exchange) -> Option<String> {
    let ended = exchange.parameter("ended")?;
    let (browser, system) = ended.split_once(" on ").unwrap_or((&ended, ""));
    let known = |name: &str| BROWSERS.iter().chain(&SYSTEMS).any(|(_, known)| *known == name);
    let is_name = known(browser) && (system.is_empty() || known(system));
    Some(format!("{} was signed out.", if is_name { &ended } else { "The device" }))
}

async fn sessions_of(visitor: &Visitor) -> Result<Vec<Session>, ApiError> {
    let exchange = &visitor.exchange;
    exchange.read(exchange.context.use_cases.sessions.of_user(visitor.user())).await
}

fn name_of(session: &Session) -> Option<String> {
    name(session.user_agent.as_ref()?.as_str())
}

/// Browsers by a token of their user agent. Most also contain the tokens of others, so the most specific come first.
const BROWSERS: [(&str, &str); 11] = [
    ("Edg/", "Edge"),
    ("EdgA/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
    ("python-requests/", "A Python program"),
];
/// Systems by a token of the user agent, the most specific first.
const SYSTEMS: [(&str, &str); 8] = [
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
    ("X11", "Unix"),
];

/// Returns the browser and system of a user agent, or `None` if neither is known.
fn name(user_agent: &str) -> Option<String> {
    let find = |known: &[(&str, &'static str)]| {
        known.iter().find(|(mark, _)| user_agent.contains(mark)).map(|(_, name)| *name)
    };
    let parts: Vec<_> = [find(&BROWSERS), find(&SYSTEMS)].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" on "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_browsers_and_systems() {
        for (sent, expected) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
                Some("Firefox on Linux"),
            ),
            (
                "(Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0",
                Some("Edge on Windows"),
            ),
            ("(Macintosh; Intel Mac OS X 10_15_7) Version/18.0 Safari/605.1.15", Some("Safari on macOS")),
            ("(iPhone; like Mac OS X) CriOS/140.0 Mobile/15E148 Safari/604.1", Some("Chrome on iPhone")),
            ("(Linux; Android 15) Chrome/140.0 Mobile Safari/537.36", Some("Chrome on Android")),
            ("curl/8.5.0", Some("curl")),
            ("something else", None),
        ] {
            assert_eq!(name(sent).as_deref(), expected, "{sent}");
        }
    }
}

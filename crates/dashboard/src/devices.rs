//! `/devices`: lists and ends the user's sessions.

use crate::{
    context::{DashboardContext, SignedOut},
    date::Date,
    form::{handle_form, parameter},
    page::{self, Frame, Here, see_other},
    visitor::{Visitor, signed_in},
};
use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use companion_domain::session::{Session, TokenHash};
use companion_http::{
    ApiError,
    audit::Audit,
    audited_end,
    deadline::{change, within_storage},
    routing,
};
use std::sync::Arc;
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

pub(crate) fn end_resource(path: &'static str) -> routing::Resource {
    routing::resource(path, "POST, OPTIONS").route(web::post().to(end))
}

pub(crate) fn end_all_resource(path: &'static str) -> routing::Resource {
    routing::resource(path, "POST, OPTIONS").route(web::post().to(end_all))
}

pub(crate) async fn list(
    context: web::Data<DashboardContext>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    signed_in(&context, &request, async |visitor| {
        let now = context.clock.now();
        let view = |session: &Session| DeviceView {
            id: session.id.to_string(),
            this: session.id == visitor.session.id,
            name: session.user_agent.as_ref().and_then(|agent| name(agent.as_str())),
            first_seen: Date::of(session.created_at, now),
            last_seen: Date::of(session.last_seen_at.min(now), now),
            ends: Date::of(context.use_cases.sessions.ends_at(session), now),
        };
        let mut sessions = sessions_of(&context, &request, &visitor).await?;
        // The current session first, then the most recently used.
        sessions.sort_by_key(|session| {
            (session.id != visitor.session.id, std::cmp::Reverse(session.last_seen_at))
        });
        let devices = sessions.iter().map(view).collect();
        let frame = context.frame("Devices", Here::Devices, visitor.navigation(&context));
        let (form_token, message) = (visitor.form_token(&context), message(&request));
        page::show(&DevicesPage { frame, form_token, message, devices })
    })
    .await
}

/// Ends one of the user's own sessions. Succeeds if it has already ended.
async fn end(
    context: web::Data<DashboardContext>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, ApiError> {
    handle_form(&context, &request, payload, context.settings.body_limit, async |visitor, form| {
        let id: Option<TokenHash> = form.get("id").parse().ok();
        let own = sessions_of(&context, &request, &visitor)
            .await?
            .into_iter()
            .find(|session| Some(session.id) == id);
        let ended = own.as_ref().and_then(|session| name(session.user_agent.as_ref()?.as_str()));
        if let Some(session) = own {
            let sessions = Arc::clone(&context.use_cases.sessions);
            let audit = Audit::of(&request, "revoke_session").user(visitor.session.user);
            let work = async move {
                audited_end(
                    &audit,
                    sessions.revoke(&session.id).await.map(|ended| ended.into_iter().collect()),
                )
            };
            change(&context.storage_limiter, &request, work).await?;
        }
        if id == Some(visitor.session.id) {
            return context.without_session(SignedOut::ThisDevice);
        }
        let ended = Serializer::new(String::new()).append_pair("ended", &ended.unwrap_or_default()).finish();
        see_other(&format!("/devices?{ended}"))
    })
    .await
}

/// Ends all sessions of the user, including this one.
async fn end_all(
    context: web::Data<DashboardContext>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, ApiError> {
    handle_form(&context, &request, payload, context.settings.body_limit, async |visitor, _| {
        let user = visitor.session.user;
        let sessions = Arc::clone(&context.use_cases.sessions);
        let audit = Audit::of(&request, "revoke_user").user(user);
        let work = async move { audited_end(&audit, sessions.revoke_user(user).await) };
        change(&context.storage_limiter, &request, work).await?;
        context.without_session(SignedOut::AllDevices)
    })
    .await
}

/// Returns what the last action did. Only names that this service gives are repeated from the address.
fn message(request: &HttpRequest) -> Option<String> {
    let ended = parameter(request, "ended")?;
    let (browser, system) = ended.split_once(" on ").unwrap_or((&ended, ""));
    let known = |name: &str| BROWSERS.iter().chain(&SYSTEMS).any(|(_, known)| *known == name);
    let is_name = known(browser) && (system.is_empty() || known(system));
    Some(format!("{} was signed out.", if is_name { &ended } else { "The device" }))
}

async fn sessions_of(
    context: &DashboardContext,
    request: &HttpRequest,
    visitor: &Visitor,
) -> Result<Vec<Session>, ApiError> {
    within_storage(
        &context.storage_limiter,
        request,
        context.use_cases.sessions.of_user(visitor.session.user),
    )
    .await
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
pub(crate) fn name(user_agent: &str) -> Option<String> {
    let find = |known: &[(&str, &'static str)]| {
        known.iter().find(|(mark, _)| user_agent.contains(mark)).map(|(_, name)| *name)
    };
    match (find(&BROWSERS), find(&SYSTEMS)) {
        (Some(browser), Some(system)) => Some(format!("{browser} on {system}")),
        (Some(one), None) | (None, Some(one)) => Some(one.to_owned()),
        (None, None) => None,
    }
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
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 \
                 Safari/537.36 Edg/140.0.0.0",
                Some("Edge on Windows"),
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 \
                 Safari/605.1.15",
                Some("Safari on macOS"),
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
                 CriOS/140.0 Mobile/15E148 Safari/604.1",
                Some("Chrome on iPhone"),
            ),
            (
                "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile \
                 Safari/537.36",
                Some("Chrome on Android"),
            ),
            ("curl/8.5.0", Some("curl")),
            ("something else", None),
        ] {
            assert_eq!(name(sent).as_deref(), expected, "{sent}");
        }
    }
}

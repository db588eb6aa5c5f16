//! Forms, which alone change data.

use crate::{
    context::Exchange,
    page::{Answer, Theme, see_other, with_cookie},
    pending_sign_in::is_ours,
    visitor::{Visit, Visitor, signed_in, signed_out},
};
use actix_web::{
    Handler,
    http::{
        Method,
        header::{ORIGIN, REFERER},
    },
    web,
};
use companion_http::{
    ApiError,
    body::read_bytes,
    headers::{Only, only},
    routing::{Resource, resource},
};
use std::time::Duration;

/// The fields of a form.
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    /// Returns the value of a field; empty if it is absent.
    pub(crate) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(field, _)| field == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// Returns all values of a field, in order.
    pub(crate) fn all(&self, name: String) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(field, _)| *field == name).map(|(_, value)| value.as_str())
    }

    /// Reads a form of at most the usual size of a body, or `min_limit` bytes. Its `Origin` must be this site.
    pub(crate) async fn of_this_site(
        exchange: &Exchange,
        payload: web::Payload,
        min_limit: usize,
    ) -> Result<Self, ApiError> {
        let settings = &exchange.context.settings;
        match only(exchange.request.headers(), &ORIGIN) {
            Only::Once(origin) if origin == settings.url.as_str() => {}
            Only::Once(_) | Only::Absent | Only::Repeated => return Err(ApiError::OriginRefused),
        }
        let limit = settings.body_limit.max(min_limit);
        let body = read_bytes(exchange.request.headers(), payload.into_inner(), limit).await?;
        Ok(Self(url::form_urlencoded::parse(&body).into_owned().collect()))
    }
}

/// Returns the resource of a form.
pub(crate) fn form<F>(path: &'static str, change: F) -> Resource
where
    F: AsyncFn(Visitor, Form) -> Answer + Clone + 'static,
{
    resource(path).on(Method::POST, handler(change, 0))
}

/// Returns the resource of a page that needs a session, and of the form on it.
pub(crate) fn page_with_form<S, F>(path: &'static str, show: S, change: F, min_limit: usize) -> Resource
where
    S: AsyncFn(Visitor) -> Answer + Clone + 'static,
    F: AsyncFn(Visitor, Form) -> Answer + Clone + 'static,
{
    resource(path).on(Method::GET, signed_in(show)).on(Method::POST, handler(change, min_limit))
}

/// Returns the handler of a form of a signed-in user. Its `Origin` must be this site, and it must contain the form token
/// of the session (CSRF protection).
fn handler<F>(change: F, min_limit: usize) -> impl Handler<(Exchange, web::Payload), Output = Answer>
where
    F: AsyncFn(Visitor, Form) -> Answer + Clone + 'static,
{
    move |exchange: Exchange, payload: web::Payload| {
        let change = change.clone();
        async move {
            let form = Form::of_this_site(&exchange, payload, min_limit).await?;
            match Visit::of(&exchange).await? {
                Visit::SignedIn(visitor) if visitor.is_form_token(form.get("token")) => {
                    change(visitor.named().await, form).await
                }
                Visit::SignedIn(_) => Err(ApiError::OriginRefused),
                Visit::Guest | Visit::Ended => signed_out(&exchange, "/guilds"),
            }
        }
    }
}

/// How long the choice of a theme is kept.
const THEME_LIFETIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Returns the resource of `/theme`, which chooses between the light and the dark theme. It works without scripts and for
/// guests.
pub(crate) fn theme(path: &'static str) -> Resource {
    resource(path).on(Method::POST, choose_theme)
}

/// Stores the choice of a theme in a cookie, and returns to the page it was made on.
async fn choose_theme(exchange: Exchange, payload: web::Payload) -> Answer {
    let form = Form::of_this_site(&exchange, payload, 0).await?;
    let Exchange { context, request } = exchange;
    let cookie = match Theme::named(form.get("theme")) {
        Theme::System => context.theme_cookie.clear()?,
        chosen @ (Theme::Light | Theme::Dark) => context.theme_cookie.set(chosen.word(), THEME_LIFETIME)?,
    };
    let from = request.headers().get(REFERER).and_then(|value| url::Url::parse(value.to_str().ok()?).ok());
    let path = from.as_ref().map_or("/", url::Url::path);
    Ok(with_cookie(see_other(if is_ours(path) { path } else { "/" })?, cookie))
}

//! `/theme`: chooses between the light and the dark theme. It works without scripts and for guests.

use crate::{
    context::Exchange,
    form::Form,
    page::{Answer, Theme, see_other},
    pending_sign_in::is_ours,
};
use actix_web::{
    http::header::{self, REFERER},
    web,
};
use companion_http::routing;
use std::time::Duration;

/// How long the choice is kept.
const LIFETIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);

pub(crate) fn resource(path: &'static str) -> routing::Resource {
    routing::resource(path, "POST, OPTIONS").route(web::post().to(choose))
}

/// Stores the choice in a cookie, and returns to the page it was made on.
async fn choose(exchange: Exchange, payload: web::Payload) -> Answer {
    let form = Form::of_this_site(&exchange, payload, 0).await?;
    let Exchange { context, request } = exchange;
    let cookie = match Theme::named(form.get("theme")) {
        Theme::System => context.theme_cookie.clear()?,
        chosen @ (Theme::Light | Theme::Dark) => context.theme_cookie.set(chosen.word(), LIFETIME)?,
    };
    let from = request.headers().get(REFERER).and_then(|value| url::Url::parse(value.to_str().ok()?).ok());
    let path = from.as_ref().map_or("/", url::Url::path);
    let mut response = see_other(if is_ours(path) { path } else { "/" })?;
    response.headers_mut().append(header::SET_COOKIE, cookie);
    Ok(response)
}

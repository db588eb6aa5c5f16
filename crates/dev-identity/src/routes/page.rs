//! Pages and pictures for people.

use crate::{
    picture,
    platform::{Account, Parameters},
};
use actix_web::{HttpResponse, HttpResponseBuilder, http::header, web};
use std::{collections::HashMap, fmt::Write as _};
use url::form_urlencoded;

/// The hint that stands for a user who declines.
pub(super) const DECLINED: &str = "nobody";

/// Colours follow the system's light or dark scheme.
const STYLE: &str = ":root{color-scheme:light dark}\
    body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem;\
    background:Canvas;color:CanvasText}ul{list-style:none;padding:0}\
    a.choice{display:block;padding:.6rem .8rem;margin:.4rem 0;border:1px solid GrayText;border-radius:.4rem;\
    color:inherit;text-decoration:none}a.choice:hover,a.choice:focus{outline:2px solid Highlight}\
    small{display:block;opacity:.8}pre{padding:.8rem;border:1px solid GrayText;border-radius:.4rem;\
    white-space:pre-wrap;overflow-wrap:anywhere}";

/// Returns the list of users to pick from, with their descriptions. Each is a link to the same page with a hint.
pub(super) fn choice<'a>(
    query: &Parameters,
    accounts: impl Iterator<Item = &'a Account>,
    descriptions: &HashMap<u64, String>,
) -> HttpResponse {
    let mut list = String::new();
    for account in accounts {
        let display_name = account.global_name.as_deref().unwrap_or(&account.username);
        let link = escaped(&link_with_hint(query, &account.id.to_string()));
        let (display_name, username) = (escaped(display_name), escaped(&account.username));
        let about =
            descriptions.get(&account.id).map(|about| format!(" · {}", escaped(about))).unwrap_or_default();
        let _ = write!(
            list,
            "<li><a class=\"choice\" href=\"{link}\">{display_name}<small>{username}{about}</small></a></li>"
        );
    }
    let cancel = escaped(&link_with_hint(query, DECLINED));
    let body = format!(
        "<h1>Sign in as</h1><p>This is the development identity provider. Pick a sample user.</p>\
         <ul>{list}</ul><p><a href=\"{cancel}\">Cancel</a></p>"
    );
    page(HttpResponse::Ok(), &body)
}

/// Returns the page with a code and the command that uses it.
pub(super) fn code(code: &str, command: Option<&str>) -> HttpResponse {
    let command = command.map_or_else(String::new, |command| {
        let command = escaped(&command.replace("{code}", code));
        format!(
            "<p>Paste this into a terminal to turn it into a session:</p><pre><code>{command}</code></pre>"
        )
    });
    let body = format!(
        "<h1>You are signed in</h1><p>Your code, which works once:</p><pre><code>{}</code></pre>{command}",
        escaped(code)
    );
    page(HttpResponse::Ok(), &body)
}

/// Returns the error page of an invalid request.
pub(super) fn error_page(what: &str) -> HttpResponse {
    let body = format!("<h1>This sign-in cannot begin</h1><p>{}</p>", escaped(what));
    page(HttpResponse::BadRequest(), &body)
}

fn page(mut response: HttpResponseBuilder, body: &str) -> HttpResponse {
    response
        .insert_header(header::ContentType::html())
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header(("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"))
        .body(format!(
            "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\"><title>Sign in</title>\
             <style>{STYLE}</style></head><body>{body}</body></html>"
        ))
}

fn link_with_hint(query: &Parameters, hint: &str) -> String {
    let others = query.iter().filter(|(name, _)| *name != "login_hint");
    let pairs = others.chain([("login_hint", hint)]);
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    format!("?{query}")
}

fn escaped(text: &str) -> String {
    // The ampersand comes first, because the others are replaced by text with one.
    let entities = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;")];
    entities.into_iter().fold(text.to_owned(), |text, (plain, entity)| text.replace(plain, entity))
}

/// The platform has six default avatars.
const DEFAULT_AVATARS: u64 = 6;

pub(super) async fn own_picture(path: web::Path<(u64, String)>) -> HttpResponse {
    let (owner, file) = path.into_inner();
    match file.strip_suffix(".png") {
        Some(hash) => picture(&format!("{owner}/{hash}")),
        None => HttpResponse::NotFound().finish(),
    }
}

pub(super) async fn default_avatar(file: web::Path<String>) -> HttpResponse {
    let number = file.strip_suffix(".png").and_then(|number| number.parse::<u64>().ok());
    match number.filter(|number| *number < DEFAULT_AVATARS) {
        Some(number) => picture(&format!("default {number}")),
        None => HttpResponse::NotFound().finish(),
    }
}

fn picture(name: &str) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("image/png")
        .insert_header((header::CACHE_CONTROL, "public, max-age=86400"))
        .insert_header((header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .body(picture::png(name))
}

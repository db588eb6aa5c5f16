//! Pages and pictures for people: `GET /oauth2/authorize`, where a person picks a sample user, and `GET /callback`, which
//! shows the code.

use crate::{
    CodeTerms, picture,
    platform::{Account, Parameters},
    state::ServerState,
};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, http::header, web};
use std::{collections::HashMap, fmt::Write as _};
use url::{Url, form_urlencoded};

pub(super) async fn authorize(request: HttpRequest, shared: web::Data<ServerState>) -> HttpResponse {
    let Ok(query) = Parameters::read(request.query_string().as_bytes()) else {
        return error_page("A parameter is repeated.");
    };
    let mut world = shared.world();
    let (now, platform) = (world.now(), &mut world.platform);
    // Without a valid client and redirect URI, no redirect may happen (RFC 6749, 4.1.2.1).
    let Some(client) = query.get("client_id").and_then(|id| platform.client(id)) else {
        return error_page("The client_id is unknown.");
    };
    let registered = |uri: &&str| client.redirect_uris.iter().any(|known| known == uri);
    let Some(redirect_uri) = query.get("redirect_uri").filter(registered) else {
        return error_page("The redirect_uri is not registered exactly like this.");
    };
    let client = client.id.clone();

    if query.get("response_type") != Some("code") {
        return send_back(redirect_uri, &query, &[("error", "unsupported_response_type")]);
    }
    let code_challenge = match (query.get("code_challenge"), query.get("code_challenge_method")) {
        (Some(challenge), Some("S256")) => Some(challenge.to_owned()),
        (None, None) => None,
        _ => return send_back(redirect_uri, &query, &[("error", "invalid_request")]),
    };
    let Some(scope) = query.get("scope") else {
        return send_back(redirect_uri, &query, &[("error", "invalid_scope")]);
    };
    let hint = query.get("login_hint");
    if hint == Some(DECLINED) {
        return send_back(redirect_uri, &query, &[("error", "access_denied")]);
    }
    let Some(user) = hint.and_then(|hint| platform.find_account(hint)).map(|account| account.id) else {
        return choice(&query, platform.accounts(), &shared.descriptions);
    };
    let terms = CodeTerms {
        redirect_uri: Some(redirect_uri.to_owned()),
        code_challenge,
        client_id: Some(client),
        scope: Some(scope.to_owned()),
    };
    let code = platform.issue_code(user, terms, false, now);
    send_back(redirect_uri, &query, &[("code", &code)])
}

fn send_back(redirect_uri: &str, query: &Parameters, parameters: &[(&str, &str)]) -> HttpResponse {
    let Ok(mut target) = Url::parse(redirect_uri) else {
        return error_page("The redirect_uri is not a URL.");
    };
    let state = query.get("state").map(|state| ("state", state));
    target.query_pairs_mut().extend_pairs(parameters.iter().copied().chain(state));
    HttpResponse::Found()
        .insert_header((header::LOCATION, String::from(target)))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .finish()
}

pub(super) async fn call_back(request: HttpRequest, shared: web::Data<ServerState>) -> HttpResponse {
    let query = Parameters::read(request.query_string().as_bytes()).ok();
    let parameter = |name: &str| query.as_ref().and_then(|query| query.get(name));
    match (parameter("code").filter(|code| is_code(code)), parameter("error")) {
        (Some(code), _) => code_page(code, shared.command.as_deref()),
        (None, Some("access_denied")) => error_page("You declined the sign-in. Go back to pick a user."),
        (None, _) => error_page("There is no code here. Begin at the sign-in page."),
    }
}

/// Whether the text has the format of a code. The page inserts it into a shell command, so nothing else is accepted.
fn is_code(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=256).contains(&text.len()) && text.bytes().all(plain)
}

/// The hint that stands for a user who declines.
const DECLINED: &str = "nobody";

/// Colours follow the system's light or dark scheme.
const STYLE: &str = ":root{color-scheme:light dark}\
    body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem;\
    background:Canvas;color:CanvasText}ul{list-style:none;padding:0}\
    a.choice{display:block;padding:.6rem .8rem;margin:.4rem 0;border:1px solid GrayText;border-radius:.4rem;\
    color:inherit;text-decoration:none}a.choice:hover,a.choice:focus{outline:2px solid Highlight}\
    small{display:block;opacity:.8}pre{padding:.8rem;border:1px solid GrayText;border-radius:.4rem;\
    white-space:pre-wrap;overflow-wrap:anywhere}";

/// Returns the list of users to pick from, with their descriptions. Each is a link to the same page with a hint.
fn choice<'a>(
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
fn code_page(code: &str, command: Option<&str>) -> HttpResponse {
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
fn error_page(what: &str) -> HttpResponse {
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

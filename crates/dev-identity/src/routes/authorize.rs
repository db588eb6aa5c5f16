//! `GET /oauth2/authorize`, where a person picks a sample user, and `GET /callback`, which shows the code.

use super::page;
use crate::{CodeTerms, platform::Parameters, state::ServerState};
use actix_web::{HttpRequest, HttpResponse, http::header, web};
use url::Url;

pub(super) async fn authorize(request: HttpRequest, shared: web::Data<ServerState>) -> HttpResponse {
    let Ok(query) = Parameters::read(request.query_string().as_bytes()) else {
        return page::error_page("A parameter is repeated.");
    };
    let mut world = shared.world();
    let (now, platform) = (world.now(), &mut world.platform);
    // Without a valid client and redirect URI, no redirect may happen (RFC 6749, 4.1.2.1).
    let Some(client) = query.get("client_id").and_then(|id| platform.client(id)) else {
        return page::error_page("The client_id is unknown.");
    };
    let registered = |uri: &&str| client.redirect_uris.iter().any(|known| known == uri);
    let Some(redirect_uri) = query.get("redirect_uri").filter(registered) else {
        return page::error_page("The redirect_uri is not registered exactly like this.");
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
    if hint == Some(page::DECLINED) {
        return send_back(redirect_uri, &query, &[("error", "access_denied")]);
    }
    let Some(user) = hint.and_then(|hint| platform.find_account(hint)).map(|account| account.id) else {
        return page::choice(&query, platform.accounts(), &shared.descriptions);
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
        return page::error_page("The redirect_uri is not a URL.");
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
        (Some(code), _) => page::code(code, shared.command.as_deref()),
        (None, Some("access_denied")) => {
            page::error_page("You declined the sign-in. Go back to pick a user.")
        }
        (None, _) => page::error_page("There is no code here. Begin at the sign-in page."),
    }
}

/// Whether the text has the format of a code. The page inserts it into a shell command, so nothing else is accepted.
fn is_code(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=256).contains(&text.len()) && text.bytes().all(plain)
}

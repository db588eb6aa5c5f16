//! `POST /oauth2/token` and `POST /oauth2/token/revoke`.

use super::answer::{answer, header_text};
use crate::{
    Route,
    platform::{Credentials, OauthError, Parameters, Platform},
    state::ServerState,
};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, http::header, web};
use serde_json::json;

pub(super) async fn token(
    request: HttpRequest,
    shared: web::Data<ServerState>,
    body: web::Bytes,
) -> HttpResponse {
    let user = renewing(&body).and_then(|refresh| Some(shared.platform().grants.find(&refresh)?.grant.user));
    let _under_way = user.map(|user| shared.calls.begin(user, Route::Token));
    answer(Route::Token, &request, &shared, || {
        let now = shared.clock.now();
        let answered = authenticated(&request, &shared, &body, |platform, client, form| {
            match form.required("grant_type")? {
                "authorization_code" => platform.exchange(client, form, now),
                "refresh_token" => platform.renew(client, form, now),
                _ => Err(OauthError::UnsupportedGrantType),
            }
        });
        match answered {
            Ok(tokens) => uncacheable(HttpResponse::Ok()).json(tokens),
            Err(error) => refused(error, &request),
        }
    })
    .await
}

pub(super) async fn revoke(
    request: HttpRequest,
    shared: web::Data<ServerState>,
    body: web::Bytes,
) -> HttpResponse {
    answer(Route::Revoke, &request, &shared, || {
        match authenticated(&request, &shared, &body, Platform::revoke) {
            Ok(()) => uncacheable(HttpResponse::Ok()).json(json!({})),
            Err(error) => refused(error, &request),
        }
    })
    .await
}

/// Returns the refresh token of a request, if it has one.
fn renewing(body: &[u8]) -> Option<String> {
    Parameters::read(body).ok()?.get("refresh_token").map(str::to_owned)
}

fn authenticated<T>(
    request: &HttpRequest,
    shared: &ServerState,
    body: &[u8],
    work: impl FnOnce(&mut Platform, &str, &Parameters) -> Result<T, OauthError>,
) -> Result<T, OauthError> {
    let form = Parameters::read(body)?;
    let credentials = Credentials::read(header_text(request, &header::AUTHORIZATION), &form)?;
    let mut platform = shared.platform();
    platform.authenticate(&credentials)?;
    work(&mut platform, &credentials.id, &form)
}

fn refused(error: OauthError, request: &HttpRequest) -> HttpResponse {
    let mut response = match error {
        OauthError::InvalidClient => HttpResponse::Unauthorized(),
        OauthError::InvalidRequest | OauthError::InvalidGrant | OauthError::UnsupportedGrantType => {
            HttpResponse::BadRequest()
        }
    };
    if error == OauthError::InvalidClient && request.headers().contains_key(header::AUTHORIZATION) {
        response.insert_header((header::WWW_AUTHENTICATE, "Basic realm=\"oauth2\""));
    }
    uncacheable(response).json(json!({"error": error.word(), "error_description": error.description()}))
}

fn uncacheable(mut response: HttpResponseBuilder) -> HttpResponseBuilder {
    response.insert_header((header::CACHE_CONTROL, "no-store"));
    response
}

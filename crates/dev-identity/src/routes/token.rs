//! `POST /oauth2/token` and `POST /oauth2/token/revoke`.

use super::{answer, header_text};
use crate::{
    Route,
    platform::{Credentials, OauthError, Parameters, Platform},
    state::ServerState,
};
use actix_web::{HttpRequest, HttpResponse, http::header, web};
use serde_json::{Value, json};
use std::time::Duration;

pub(super) async fn token(
    request: HttpRequest,
    shared: web::Data<ServerState>,
    body: web::Bytes,
) -> HttpResponse {
    let form = Parameters::read(&body).ok();
    let refresh = form.as_ref().and_then(|form| form.get("refresh_token"));
    let user = refresh.and_then(|refresh| shared.world().platform.grants.user_of(refresh));
    let _under_way = user.map(|user| shared.begin(user, Route::Token));
    answer(Route::Token, &request, &shared, || {
        authenticated(&request, &shared, &body, |platform, client, form, now| {
            match form.required("grant_type")? {
                "authorization_code" => platform.exchange(client, form, now),
                "refresh_token" => platform.renew(client, form, now),
                _ => Err(OauthError::UnsupportedGrantType),
            }
        })
    })
    .await
}

pub(super) async fn revoke(
    request: HttpRequest,
    shared: web::Data<ServerState>,
    body: web::Bytes,
) -> HttpResponse {
    answer(Route::Revoke, &request, &shared, || {
        authenticated(&request, &shared, &body, |platform, client, form, _| platform.revoke(client, form))
    })
    .await
}

/// Responds to a client with the right credentials with what `work` returns, and with an OAuth error otherwise.
fn authenticated(
    request: &HttpRequest,
    shared: &ServerState,
    body: &[u8],
    work: impl FnOnce(&mut Platform, &str, &Parameters, Duration) -> Result<Value, OauthError>,
) -> HttpResponse {
    let authorization = header_text(request, &header::AUTHORIZATION);
    let mut world = shared.world();
    let now = world.now();
    let answered = Parameters::read(body).and_then(|form| {
        let credentials = Credentials::read(authorization, &form)?;
        world.platform.authenticate(&credentials)?;
        work(&mut world.platform, &credentials.id, &form, now)
    });
    let (mut response, content) = match answered {
        Ok(content) => (HttpResponse::Ok(), content),
        Err(error) => {
            let mut response = match error {
                OauthError::InvalidClient => HttpResponse::Unauthorized(),
                _ => HttpResponse::BadRequest(),
            };
            if error == OauthError::InvalidClient && authorization.is_some() {
                response.insert_header((header::WWW_AUTHENTICATE, "Basic realm=\"oauth2\""));
            }
            let (word, description) = error.words();
            (response, json!({"error": word, "error_description": description}))
        }
    };
    response.insert_header((header::CACHE_CONTROL, "no-store")).json(content)
}

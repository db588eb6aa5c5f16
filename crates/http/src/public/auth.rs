//! `POST /auth`: a code becomes a session. `DELETE /auth`, where it is switched on: a session ends.

use super::{Shared, success};
use crate::{
    body::UnusedBody,
    deadline::{self, carried_through},
    edge::Caller,
    envelope,
    error::ApiError,
    headers,
    origin::Origin,
    routing, wire,
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use companion_domain::{model::WebUrl, usecase::SignInRequest};
use std::sync::Arc;

const CACHE_CONTROL: &str = "private, no-store";

/// The path, with or without signing out.
pub(super) fn resource(path: &'static str, sign_out: bool) -> Resource {
    if sign_out {
        routing::resource(path, "POST, DELETE, OPTIONS")
            .route(web::post().to(self::sign_in))
            .route(web::delete().to(self::sign_out))
    } else {
        routing::resource(path, "POST, OPTIONS").route(web::post().to(self::sign_in))
    }
}

async fn sign_in(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: UnusedBody,
) -> Result<HttpResponse, ApiError> {
    let redirect = redirect_for(&shared, welcome(&shared, &request)?)?.clone();
    let code = headers::idp_code(request.headers())?;
    let verifier = headers::code_verifier(request.headers())?;
    body.ignore(shared.settings.body_limit).await?;
    let sign_in = Arc::clone(&shared.use_cases.sign_in);
    let request = SignInRequest { code, verifier, redirect };
    let signed_in =
        carried_through(deadline::SIGN_IN, async move { sign_in.sign_in(&request).await }).await?;
    let body = envelope::success("The session was created.", wire::Session::from(&signed_in))?;
    Ok(success(body, CACHE_CONTROL))
}

async fn sign_out(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: UnusedBody,
) -> Result<HttpResponse, ApiError> {
    welcome(&shared, &request)?;
    let token = headers::token(request.headers())?.to_owned();
    body.ignore(shared.settings.body_limit).await?;
    let sessions = Arc::clone(&shared.use_cases.sessions);
    let ended = carried_through(deadline::SIGN_IN, async move { sessions.sign_out(&token).await }).await?;
    ended.ok_or(ApiError::TokenInvalid)?;
    Ok(success(envelope::success("The session has ended.", wire::Nothing {})?, CACHE_CONTROL))
}

/// The configured origin that the caller names, if it names any. Pages of other origins are turned away.
fn welcome<'a>(shared: &'a Shared, request: &HttpRequest) -> Result<Option<&'a Origin>, ApiError> {
    match Caller::of(request.headers(), &shared.settings.allowed_origins) {
        Caller::Unnamed => Ok(None),
        Caller::Known(origin) => Ok(Some(origin)),
        Caller::Stranger => Err(ApiError::OriginRefused),
    }
}

/// Where the platform sends this caller's users back to. Where no address is configured for it, the platform would
/// refuse the exchange anyway.
fn redirect_for<'a>(shared: &'a Shared, origin: Option<&Origin>) -> Result<&'a WebUrl, ApiError> {
    shared.settings.redirects.for_origin(origin).ok_or(ApiError::OriginRefused)
}

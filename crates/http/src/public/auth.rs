//! `POST /auth` exchanges a code for a session. `DELETE /auth`, off by default, ends a session.

use super::PublicContext;
use crate::{
    audit::Audit,
    body::UnusedBody,
    client::Client,
    edge::Caller,
    envelope,
    error::ApiError,
    headers,
    openapi::{Private, failure::SigningIn},
    origin::Origin,
    routing::{self, Resource},
    session_use::end_session,
    sign_ins::SentCode,
    wire::{NewSession, Nothing},
};
use actix_web::{HttpRequest, HttpResponse, http::Method, web};
use tokio::time::Instant;

/// Returns the resource, with or without `DELETE`.
pub(super) fn resource(path: &'static str, with_sign_out: bool) -> Resource {
    let resource = routing::resource(path).on(Method::POST, sign_in);
    if with_sign_out { resource.on(Method::DELETE, sign_out) } else { resource }
}

/// Exchange the identity provider's code for a session
///
/// A code opens one session, for the first request that posts it. Pages may call this from configured origins only.
#[utoipa::path(
    post, path = "/auth", operation_id = "createSession", tag = "public",
    security(("IdpCode" = [])),
    params(
        (
            "Idp-Code" = String,
            Header,
            description = "The identity provider's code, sent exactly once.",
            pattern = "^[!-~]{1,1024}$",
        ),
        (
            "Idp-Code-Verifier" = Option<String>,
            Header,
            description = "The PKCE verifier, if the sign-in was begun with a challenge.",
            pattern = "^[A-Za-z0-9._~-]{43,128}$",
        ),
    ),
    responses(
        (
            status = 200,
            description = "A new session.",
            body = NewSession<'_>,
            headers(("Cache-Control" = inline(Private))),
        ),
        SigningIn,
    )
)]
pub(crate) async fn sign_in(
    context: web::Data<PublicContext>,
    request: HttpRequest,
    body: UnusedBody,
) -> Result<HttpResponse, ApiError> {
    let audit = Audit::of(&request, "sign_in");
    let client = Client::behind_request(&request);
    let begun = Instant::now();
    let sent = read_code(&context, &request, client, body).await;
    let signed_in = context.sign_ins.sign_in(begun, client, audit, sent).await?;
    envelope::answer("The session was created.", NewSession::from(&signed_in), Private::VALUE)
}

/// Reads the whole request before it takes a slot, so that a slow client holds none.
async fn read_code(
    context: &PublicContext,
    request: &HttpRequest,
    client: Option<Client>,
    body: UnusedBody,
) -> Result<SentCode, ApiError> {
    let redirect = context.settings.redirects.for_origin(allowed_origin(context, request)?)?.clone();
    context.sign_ins.check(client)?;
    let code = context.sign_ins.read_code(client, headers::idp_code(request.headers())?)?;
    let verifier = headers::code_verifier(request.headers())?;
    body.ignore(context.settings.body_limit).await?;
    let user_agent = headers::user_agent(request.headers());
    Ok(SentCode { code, verifier, redirect, user_agent })
}

async fn sign_out(
    context: web::Data<PublicContext>,
    request: HttpRequest,
    body: UnusedBody,
) -> Result<HttpResponse, ApiError> {
    allowed_origin(&context, &request)?;
    let token = headers::token(request.headers())?.to_owned();
    body.ignore(context.settings.body_limit).await?;
    end_session(&context.use_cases.sessions, &context.storage_limiter, &request, token).await?;
    envelope::answer("The session has ended.", Nothing {}, Private::VALUE)
}

/// Returns the configured origin of the caller, or `None` if it sends no `Origin`. Other origins are refused.
fn allowed_origin<'a>(
    context: &'a PublicContext,
    request: &HttpRequest,
) -> Result<Option<&'a Origin>, ApiError> {
    match Caller::of(request.headers(), &context.settings.allowed_origins) {
        Caller::NoOrigin => Ok(None),
        Caller::Known(origin) => Ok(Some(origin)),
        Caller::Foreign => Err(ApiError::OriginRefused),
    }
}

//! `POST /auth`: a code becomes a session. `DELETE /auth`, where it is switched on: a session ends.

use super::{context::PublicContext, refusals::Attempt};
use crate::{
    audit::Audit,
    body::UnusedBody,
    client::Client,
    deadline,
    edge::Caller,
    envelope,
    error::ApiError,
    headers,
    openapi::{Private, failure::SigningIn},
    origin::{Origin, Redirects},
    routing,
    session_end::end_session,
    wire::{NewSession, Nothing},
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use companion_domain::{
    model::WebUrl,
    usecase::{SignIn, SignInError, SignInRequest, SignedIn},
};
use std::{sync::Arc, time::Duration};
use tokio::{sync::OwnedSemaphorePermit, time::Instant};

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

/// Exchange the identity provider's code for a session
///
/// A code opens one session, for the first who posts it. Pages may call this from configured origins only.
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
            description = "The PKCE verifier, where the sign-in was begun with a challenge.",
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
    let client = Client::of(&request, &context.settings.trusted_proxies);
    let begun = Instant::now();
    let (sign_in_request, attempt, permit) = match begin_sign_in(&context, &request, client, body).await {
        Ok(begun) => begun,
        Err(error) => {
            audit.refused(&error);
            let refused = Err(error);
            context.sign_ins.ended(&refused);
            return refused;
        }
    };
    let working = context.clone();
    let work = async move {
        let ended = audited_sign_in(&working.use_cases.sign_in, &sign_in_request, audit).await;
        working.sign_ins.ended(&ended);
        attempt.ended(&ended);
        drop(permit);
        ended
    };
    let signed_in = deadline::sign_in(begun.elapsed(), work).await?;
    envelope::answer("The session was created.", NewSession::from(&signed_in), Private::VALUE)
}

/// Reads the request, and takes a slot among the attempts of the client and among all.
async fn begin_sign_in(
    context: &PublicContext,
    request: &HttpRequest,
    client: Option<Client>,
    body: UnusedBody,
) -> Result<(SignInRequest, Attempt, OwnedSemaphorePermit), ApiError> {
    let redirect = redirect_for(context, welcome(context, request)?)?.clone();
    context.refusals.check(client)?;
    let code = headers::idp_code(request.headers()).inspect_err(|error| {
        if let ApiError::IdpCodeInvalid = error {
            context.refusals.count(client);
        }
    })?;
    let verifier = headers::code_verifier(request.headers())?;
    body.ignore(context.settings.body_limit).await?;
    // Last of all, so that a client that is slow to send holds no slot meanwhile.
    let attempt = context.refusals.admit(client, code.fingerprint()).await?;
    let permit = Arc::clone(&context.sign_in_slots).try_acquire_owned();
    let permit = permit.map_err(|_| ApiError::Overloaded(Duration::ZERO))?;
    let Attempt { client, standing, .. } = attempt;
    Ok((SignInRequest { code, verifier, redirect, client, standing }, attempt, permit))
}

/// Signs in, and tells the audit trail how it ended, also when the caller no longer waits for it.
async fn audited_sign_in(
    sign_in: &SignIn,
    sign_in_request: &SignInRequest,
    audit: Audit,
) -> Result<SignedIn, ApiError> {
    match sign_in.sign_in(sign_in_request).await {
        Ok(signed_in) => {
            audit.sessions(&[signed_in.session], None);
            Ok(signed_in)
        }
        Err(error) => {
            let audit = if let SignInError::Blocked(user) = error { audit.user(user) } else { audit };
            let error = ApiError::from(error);
            audit.refused(&error);
            Err(error)
        }
    }
}

async fn sign_out(
    context: web::Data<PublicContext>,
    request: HttpRequest,
    body: UnusedBody,
) -> Result<HttpResponse, ApiError> {
    welcome(&context, &request)?;
    let token = headers::token(request.headers())?.to_owned();
    body.ignore(context.settings.body_limit).await?;
    end_session(&context.use_cases.sessions, &context.storage, token, Audit::of(&request, "sign_out"))
        .await?;
    envelope::answer("The session has ended.", Nothing {}, Private::VALUE)
}

/// The configured origin that the caller names, if it names any. Pages of other origins are turned away.
fn welcome<'a>(context: &'a PublicContext, request: &HttpRequest) -> Result<Option<&'a Origin>, ApiError> {
    match Caller::of(request.headers(), &context.settings.allowed_origins) {
        Caller::Unnamed => Ok(None),
        Caller::Known(origin) => Ok(Some(origin)),
        Caller::Stranger => Err(ApiError::OriginRefused),
    }
}

/// Where the platform sends this caller's users back to. Where no address is configured for it, the platform would
/// refuse the exchange anyway.
fn redirect_for<'a>(context: &'a PublicContext, origin: Option<&Origin>) -> Result<&'a WebUrl, ApiError> {
    match &context.settings.redirects {
        Redirects::NotConfigured => Err(ApiError::SignInNotConfigured),
        redirects => redirects.for_origin(origin).ok_or(ApiError::OriginRefused),
    }
}

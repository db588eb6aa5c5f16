//! `POST /auth`: a code becomes a session. `DELETE /auth`, where it is switched on: a session ends.

use super::{Shared, refusals::Attempt, success};
use crate::{
    audit::Audit,
    body::UnusedBody,
    client::Client,
    deadline,
    edge::Caller,
    envelope,
    error::ApiError,
    headers,
    origin::{Origin, Redirects},
    routing, wire,
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use companion_domain::{
    change::Tally,
    model::WebUrl,
    session::Session,
    usecase::{ManageSessions, SignIn, SignInError, SignInRequest, SignedIn},
};
use std::{sync::Arc, time::Duration};
use tokio::{sync::OwnedSemaphorePermit, time::Instant};

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
    let audit = Audit::of(&request, "sign_in");
    let client = Client::of(&request, &shared.settings.trusted_proxies);
    let begun = Instant::now();
    let (asked, attempt, place) = match begin_sign_in(&shared, &request, client, body).await {
        Ok(begun) => begun,
        Err(error) => {
            audit.refused(&error);
            let refused = Err(error);
            shared.sign_ins.ended(&refused);
            return refused;
        }
    };
    let work_shared = shared.clone();
    let work = async move {
        let ended = audited_sign_in(&work_shared.use_cases.sign_in, &asked, audit).await;
        work_shared.sign_ins.ended(&ended);
        attempt.ended(&ended);
        drop(place);
        ended
    };
    let signed_in = deadline::sign_in(begun.elapsed(), work).await?;
    let body = envelope::success("The session was created.", wire::Session::from(&signed_in))?;
    Ok(success(body, CACHE_CONTROL))
}

/// Reads what is asked for, and takes a place among the attempts of the client and among all.
async fn begin_sign_in(
    shared: &Shared,
    request: &HttpRequest,
    client: Option<Client>,
    body: UnusedBody,
) -> Result<(SignInRequest, Attempt, OwnedSemaphorePermit), ApiError> {
    let redirect = redirect_for(shared, welcome(shared, request)?)?.clone();
    shared.refusals.check(client)?;
    let code = headers::idp_code(request.headers()).inspect_err(|error| {
        if let ApiError::IdpCodeInvalid = error {
            shared.refusals.count(client);
        }
    })?;
    let verifier = headers::code_verifier(request.headers())?;
    body.ignore(shared.settings.body_limit).await?;
    // Last of all, so that a client that is slow to send holds no place meanwhile.
    let attempt = shared.refusals.admit(client, code.fingerprint()).await?;
    let place = Arc::clone(&shared.places).try_acquire_owned();
    let place = place.map_err(|_| ApiError::Overloaded(Duration::ZERO))?;
    let Attempt { client, standing, .. } = attempt;
    Ok((SignInRequest { code, verifier, redirect, client, standing }, attempt, place))
}

/// Signs in, and tells the audit trail how it ended, also when the caller no longer waits for it.
async fn audited_sign_in(
    sign_in: &SignIn,
    asked: &SignInRequest,
    audit: Audit,
) -> Result<SignedIn, ApiError> {
    match sign_in.sign_in(asked).await {
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
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: UnusedBody,
) -> Result<HttpResponse, ApiError> {
    welcome(&shared, &request)?;
    let token = headers::token(request.headers())?.to_owned();
    body.ignore(shared.settings.body_limit).await?;
    end_session(&shared.use_cases.sessions, token, Audit::of(&request, "sign_out")).await?;
    Ok(success(envelope::success("The session has ended.", wire::Nothing {})?, CACHE_CONTROL))
}

/// Ends the session of a token, on either listener.
pub(crate) async fn end_session(
    sessions: &Arc<ManageSessions>,
    token: String,
    audit: Audit,
) -> Result<Session, ApiError> {
    let sessions = Arc::clone(sessions);
    let work = async move {
        let ended = sessions.sign_out(&token).await.map_err(ApiError::from);
        let ended = ended.and_then(|session| session.ok_or(ApiError::TokenInvalid));
        match &ended {
            Ok(session) => audit.sessions(&[*session], Some(Tally::REMOVED)),
            Err(error) => audit.refused(error),
        }
        ended
    };
    deadline::change(work).await
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
    match &shared.settings.redirects {
        Redirects::NotConfigured => Err(ApiError::SignInNotConfigured),
        redirects => redirects.for_origin(origin).ok_or(ApiError::OriginRefused),
    }
}

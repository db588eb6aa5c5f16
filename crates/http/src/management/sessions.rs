//! Sessions and people: the operator's and the dashboard backend's hold on them.

use super::{
    Shared,
    request::{invalid_value, segment, value},
    success,
};
use crate::{body::UnusedBody, envelope, error::ApiError, headers, routing, wire};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use companion_domain::change::Tally;

/// `GET /sessions?user=`.
pub(super) fn listing() -> Resource {
    routing::reading("/sessions", list)
}

/// `POST /sessions/sign-out`.
pub(super) fn signing_out() -> Resource {
    routing::resource("/sessions/sign-out", "POST, OPTIONS").route(web::post().to(sign_out))
}

/// `DELETE /sessions/{id}`.
pub(super) fn one() -> Resource {
    routing::resource("/sessions/{id}", "DELETE, OPTIONS").route(web::delete().to(revoke))
}

/// `DELETE /users/{user}/sessions`.
pub(super) fn of_user() -> Resource {
    routing::resource("/users/{user}/sessions", "DELETE, OPTIONS").route(web::delete().to(revoke_user))
}

/// `DELETE /users/{user}`.
pub(super) fn user() -> Resource {
    routing::resource("/users/{user}", "DELETE, OPTIONS").route(web::delete().to(forget))
}

async fn list(shared: web::Data<Shared>, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let mut user = None;
    for (name, text) in url::form_urlencoded::parse(request.query_string().as_bytes()) {
        match &*name {
            "user" => user = Some(value("user", &text)?),
            other => return Err(invalid_value(other, "is not known here; known is user")),
        }
    }
    let user = user.ok_or_else(|| invalid_value("user", "is missing: whose sessions?"))?;
    let sessions = shared.sessions.of_user(user).await?;
    let ends = |session| shared.sessions.limits.ends_at(session);
    let data: Vec<_> =
        sessions.iter().map(|session| wire::SessionRecord::new(session, ends(session))).collect();
    Ok(success(envelope::success("The live sessions of the user, the oldest first.", data)?))
}

async fn sign_out(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: UnusedBody,
) -> Result<HttpResponse, ApiError> {
    let token = headers::token(request.headers())?;
    body.ignore(shared.body_limit).await?;
    shared.sessions.sign_out(token).await?.ok_or(ApiError::TokenInvalid)?;
    ended(1)
}

async fn revoke(shared: web::Data<Shared>, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let session = shared.sessions.revoke(&segment(&request, "id")?).await?;
    ended(u64::from(session.is_some()))
}

async fn revoke_user(shared: web::Data<Shared>, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let sessions = shared.sessions.revoke_user(segment(&request, "user")?).await?;
    ended(sessions.len() as u64)
}

async fn forget(shared: web::Data<Shared>, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let tally = shared.forget.forget(segment(&request, "user")?).await?;
    Ok(success(envelope::success("What was known of the user is forgotten.", wire::Changes::from(tally))?))
}

fn ended(removed: u64) -> Result<HttpResponse, ApiError> {
    let message = if removed == 0 { "There was no such session." } else { "The session has ended." };
    let tally = Tally { removed, ..Tally::NOTHING };
    Ok(success(envelope::success(message, wire::Changes::from(tally))?))
}

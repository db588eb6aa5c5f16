//! Sessions, for the operator and for dashboard backends.

use crate::{
    change::{Changes, answer},
    context::ManagementContext,
    live_session::LiveSession,
    query::Query,
    request::{EmptyBody, segment},
};
use actix_web::{HttpRequest, HttpResponse, web};
use companion_domain::{change::Tally, model::UserId, session::TokenHash};
use companion_http::{
    ApiError,
    audit::Audit,
    audited_end,
    deadline::{change, within_storage},
    end_session, headers,
    openapi::failure,
    routing,
    wire::SessionToken,
};
use companion_records::Snowflake;
use std::sync::Arc;

pub(crate) fn sign_out_resource(path: &'static str) -> routing::Resource {
    routing::resource(path, "POST, OPTIONS").route(web::post().to(sign_out))
}

pub(crate) fn session_resource(path: &'static str) -> routing::Resource {
    routing::resource(path, "DELETE, OPTIONS").route(web::delete().to(revoke))
}

pub(crate) fn user_sessions_resource(path: &'static str) -> routing::Resource {
    routing::resource(path, "DELETE, OPTIONS").route(web::delete().to(revoke_user))
}

/// List the live sessions of a user
#[utoipa::path(
    get, path = "/sessions", operation_id = "listSessions", tag = "sessions",
    params(("user" = Snowflake, Query, description = "The user's id.")),
    responses(
        (status = 200, description = "The sessions, the oldest first.", body = Vec<LiveSession>),
        failure::Input,
    )
)]
pub(crate) async fn list(
    context: web::Data<ManagementContext>,
    request: HttpRequest,
    _: EmptyBody,
) -> Result<HttpResponse, ApiError> {
    let query = Query::read(request.query_string(), &["user"])?;
    let user = query.required("user")?;
    let sessions = &context.use_cases.sessions;
    let found = within_storage(&context.storage_limiter, &request, sessions.of_user(user)).await?;
    let data: Vec<_> =
        found.iter().map(|session| LiveSession::new(session, sessions.ends_at(session))).collect();
    answer("The live sessions of the user, the oldest first.", data)
}

/// End the session of a token
///
/// For the backend of a dashboard. Ending a user's last session also ends the platform's grant.
#[utoipa::path(
    post, path = "/sessions/sign-out", operation_id = "signOut", tag = "sessions",
    security(("Token" = [])),
    params(("Token" = SessionToken<'_>, Header, description = "The session token, sent exactly once.")),
    responses((status = 200, description = "The session has ended.", body = Changes), failure::SigningOut)
)]
pub(crate) async fn sign_out(
    context: web::Data<ManagementContext>,
    request: HttpRequest,
    _: EmptyBody,
) -> Result<HttpResponse, ApiError> {
    let token = headers::token(request.headers())?.to_owned();
    end_session(&context.use_cases.sessions, &context.storage_limiter, &request, token).await?;
    ended(1)
}

/// End a session
#[utoipa::path(
    delete, path = "/sessions/{id}", operation_id = "revokeSession", tag = "sessions",
    params((
        "id" = String,
        Path,
        description = "The session's id, as listed.",
        pattern = "^[0-9A-Fa-f]{64}$",
    )),
    responses(
        (status = 200, description = "The session has ended, or did not exist.", body = Changes),
        failure::Input,
    )
)]
pub(crate) async fn revoke(
    context: web::Data<ManagementContext>,
    request: HttpRequest,
    _: EmptyBody,
) -> Result<HttpResponse, ApiError> {
    let id: TokenHash = segment(&request, "id")?;
    let sessions = Arc::clone(&context.use_cases.sessions);
    let audit = Audit::of(&request, "revoke_session");
    let work = async move {
        audited_end(&audit, sessions.revoke(&id).await.map(|session| session.into_iter().collect()))
    };
    ended(change(&context.storage_limiter, &request, work).await?)
}

/// End all sessions of a user
#[utoipa::path(
    delete, path = "/users/{user}/sessions", operation_id = "revokeSessions", tag = "sessions",
    params(("user" = Snowflake, Path, description = "The user's id.")),
    responses((status = 200, description = "No session is left.", body = Changes), failure::Input)
)]
pub(crate) async fn revoke_user(
    context: web::Data<ManagementContext>,
    request: HttpRequest,
    _: EmptyBody,
) -> Result<HttpResponse, ApiError> {
    let user: UserId = segment(&request, "user")?;
    let sessions = Arc::clone(&context.use_cases.sessions);
    let audit = Audit::of(&request, "revoke_user").user(user);
    let work = async move { audited_end(&audit, sessions.revoke_user(user).await) };
    ended(change(&context.storage_limiter, &request, work).await?)
}

fn ended(removed: u64) -> Result<HttpResponse, ApiError> {
    let message = match removed {
        0 => "There was no such session.",
        1 => "The session has ended.",
        2.. => "The sessions have ended.",
    };
    let tally = Tally { removed, ..Tally::NOTHING };
    answer(message, Changes::from(tally))
}

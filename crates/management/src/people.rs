//! Sessions and stored data of users, for the operator and for dashboard backends.

use crate::request::{Call, Changes, Query, answer};
use actix_web::HttpResponse;
use companion_domain::{
    change::Tally,
    model::{Timestamp, UserId},
    session::{Session, TokenHash},
};
use companion_http::{
    ApiError, audited_end, end_session, forget_user, headers,
    openapi::failure,
    shapes,
    wire::{self, SessionToken, StoredUser},
};
use companion_records::Snowflake;
use std::sync::Arc;

shapes! {
    /// A live session.
    pub(crate) struct LiveSession((session, ends): (&Session, Timestamp)) {
        /// The session's id: the SHA-256 of its token.
        #[schema(pattern = "^[0-9a-f]{64}$")]
        id: String = session.id.to_string(),
        user: wire::Snowflake = session.user.into(),
        /// When it was created, in seconds since 1970.
        #[schema(examples(1_700_000_000))]
        created: i64 = session.created_at.seconds(),
        /// When it was last used, as last written to the store, in seconds since 1970.
        #[schema(examples(1_700_000_000))]
        seen: i64 = session.last_seen_at.seconds(),
        /// When it expires if it is not used again, in seconds since 1970.
        #[schema(examples(1_700_000_000))]
        ends: i64 = ends.seconds(),
        /// The `User-Agent` of its sign-in, at most 256 characters; null if unknown.
        #[schema(
            required,
            max_length = 256,
            examples("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
        )]
        user_agent: Option<String> = session.user_agent.as_ref().map(ToString::to_string),
    }
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
pub(crate) async fn list(call: Call) -> Result<HttpResponse, ApiError> {
    let query = Query::read(call.request.query_string(), &["user"])?;
    let user = query.required("user")?;
    let sessions = &call.context.use_cases.sessions;
    let found = call.read(sessions.of_user(user)).await?;
    let data: Vec<_> =
        found.iter().map(|session| LiveSession::from((session, sessions.ends_at(session)))).collect();
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
pub(crate) async fn sign_out(call: Call) -> Result<HttpResponse, ApiError> {
    let Call { context, request, .. } = call;
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
pub(crate) async fn revoke(call: Call) -> Result<HttpResponse, ApiError> {
    let id: TokenHash = call.segment("id")?;
    let sessions = Arc::clone(&call.context.use_cases.sessions);
    let audit = call.audit("revoke_session");
    let work = async move {
        audited_end(&audit, sessions.revoke(&id).await.map(|session| session.into_iter().collect()))
    };
    ended(call.write(work).await?)
}

/// End all sessions of a user
#[utoipa::path(
    delete, path = "/users/{user}/sessions", operation_id = "revokeSessions", tag = "sessions",
    responses((status = 200, description = "No session is left.", body = Changes), failure::Input)
)]
pub(crate) async fn revoke_user(call: Call) -> Result<HttpResponse, ApiError> {
    let user: UserId = call.segment("user")?;
    let sessions = Arc::clone(&call.context.use_cases.sessions);
    let audit = call.audit("revoke_user").user(user);
    let work = async move { audited_end(&audit, sessions.revoke_user(user).await) };
    ended(call.write(work).await?)
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

/// Read all stored data of a user
///
/// What forgetting them would remove, in one document. It does not contain the platform's tokens, which are sealed, nor
/// a block or a place in the team, which forgetting keeps.
#[utoipa::path(
    get, path = "/users/{user}", operation_id = "getUser", tag = "sessions",
    responses(
        (status = 200, description = "All stored data of the user.", body = StoredUser<'_>),
        failure::LookUp,
    )
)]
pub(crate) async fn show(call: Call) -> Result<HttpResponse, ApiError> {
    let user: UserId = call.segment("user")?;
    let stored = call.read(call.context.use_cases.show_user.show(user)).await?;
    let stored = stored.ok_or(ApiError::NotReported)?;
    answer("Everything that is stored about the user.", StoredUser::from((user, &stored)))
}

/// Forget a user
///
/// Removes sessions, grant, member roles, staff grants, subscription and feedback. Keeps a block and a place in the
/// team.
#[utoipa::path(
    delete, path = "/users/{user}", operation_id = "forgetUser", tag = "sessions",
    responses((status = 200, description = "The data is removed.", body = Changes), failure::Input)
)]
pub(crate) async fn forget(call: Call) -> Result<HttpResponse, ApiError> {
    let user: UserId = call.segment("user")?;
    let Call { context, request, .. } = call;
    let tally = forget_user(&context.use_cases.forget, &context.storage_limiter, &request, user).await?;
    let message = match tally {
        Tally::NOTHING => "No data of the user was stored.",
        _ => "All data of the user has been deleted.",
    };
    answer(message, Changes::from(tally))
}

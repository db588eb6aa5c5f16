//! What a session opens, on whichever listener it is shown: who it is, and their guilds. Sessions that turn out to be over on
//! the way are told to the audit trail.

use crate::{
    audit::{Actor, Audit, END_AUTHORISATION, EXPIRE},
    deadline::within_storage,
    error::ApiError,
    gate::Gate,
};
use actix_web::HttpRequest;
use companion_domain::{
    change::Tally,
    model::UserId,
    session::Session,
    usecase::{Authenticate, AuthenticateError, GuildListing, ListGuilds, ListGuildsError},
};
use std::future::Future;

/// The live session of a token.
pub async fn session_of(
    token: &str,
    authenticate: &Authenticate,
    storage: &Gate,
    request: &HttpRequest,
) -> Result<Session, ApiError> {
    within_storage(storage, request, async {
        let found = authenticate.authenticate(token).await;
        if let Err(AuthenticateError::Over(session)) = &found {
            ended_with(request, EXPIRE, std::slice::from_ref(session));
        }
        found
    })
    .await
}

/// The guilds of a user. Those who need a newer list of the platform first have a queue of their own.
pub async fn guilds_of(
    user: UserId,
    list_guilds: &ListGuilds,
    storage: &Gate,
    newer_lists: &Gate,
    request: &HttpRequest,
) -> Result<GuildListing, ApiError> {
    match within_storage(storage, request, recorded(request, list_guilds.current(user))).await? {
        Some(current) => Ok(current),
        None => within_storage(newer_lists, request, recorded(request, list_guilds.newer(user))).await,
    }
}

/// Tells the audit trail of sessions that turned out to be over.
async fn recorded<T>(
    request: &HttpRequest,
    listing: impl Future<Output = Result<T, ListGuildsError>>,
) -> Result<T, ListGuildsError> {
    let listing = listing.await;
    match &listing {
        Err(ListGuildsError::SignedOut(ended)) => ended_with(request, END_AUTHORISATION, ended),
        Err(ListGuildsError::WithoutGrant(ended)) => ended_with(request, "end_without_grant", ended),
        Ok(_) | Err(_) => {}
    }
    listing
}

/// Tells the audit trail of sessions that ended with this request, where there are any.
fn ended_with(request: &HttpRequest, action: &'static str, ended: &[Session]) {
    if !ended.is_empty() {
        let tally = Tally { removed: ended.len() as u64, ..Tally::NOTHING };
        Audit::of(request, action).by(Actor::Service).sessions(ended, Some(tally));
    }
}

//! What a session token allows on every listener: authentication, listing guilds, signing out and forgetting a user.

use crate::{
    audit::{Actor, Audit, END_AUTHORISATION, EXPIRE},
    concurrency::ConcurrencyLimiter,
    deadline::{self, within_storage},
    error::ApiError,
};
use actix_web::HttpRequest;
use companion_domain::{
    change::Tally,
    model::{GuildId, UserId},
    port::StoreError,
    session::Session,
    settings::Rights,
    usecase::{
        Authenticate, AuthenticateError, ForgetUser, Forgotten, GuildListing, GuildSettings, ListGuilds,
        ListGuildsError, ManageSessions, SettingsView,
    },
};
use futures_util::TryFutureExt as _;
use std::{future::Future, sync::Arc};

/// Authenticates a token. An expired session is removed and audited.
pub async fn session_of(
    token: &str,
    authenticate: &Authenticate,
    storage_limiter: &ConcurrencyLimiter,
    request: &HttpRequest,
) -> Result<Session, ApiError> {
    within_storage(storage_limiter, request, async {
        let found = authenticate.authenticate(token).await;
        if let Err(AuthenticateError::Expired(session)) = &found {
            Audit::of(request, EXPIRE).by(Actor::Service).ended(session);
        }
        found
    })
    .await
}

/// Returns the guilds of a user. Requests that need a newer list of the platform wait in a queue of their own.
pub async fn guilds_of(
    user: UserId,
    list_guilds: &ListGuilds,
    storage_limiter: &ConcurrencyLimiter,
    list_limiter: &ConcurrencyLimiter,
    request: &HttpRequest,
) -> Result<GuildListing, ApiError> {
    match within_storage(storage_limiter, request, audited(request, list_guilds.current(user))).await? {
        Some(current) => Ok(current),
        None => within_storage(list_limiter, request, audited(request, list_guilds.newer(user))).await,
    }
}

/// Audits sessions that ended while listing.
fn audited<T>(
    request: &HttpRequest,
    listing: impl Future<Output = Result<T, ListGuildsError>>,
) -> impl Future<Output = Result<T, ListGuildsError>> {
    let audit = |action| Audit::of(request, action).by(Actor::Service);
    listing.inspect_err(move |error| audit_failed_list(audit, error))
}

/// Audits sessions that ended while listing failed.
pub(crate) fn audit_failed_list(audit: impl Fn(&'static str) -> Audit, error: &ListGuildsError) {
    let (action, ended) = match error {
        ListGuildsError::SignedOut(ended) => (END_AUTHORISATION, ended),
        ListGuildsError::WithoutGrant(ended) => ("end_without_grant", ended),
        _ => return,
    };
    if !ended.is_empty() {
        audit(action).sessions(ended, Some(removed(ended)));
    }
}

/// Returns the settings of a guild in a user's list, and what the user may do there.
pub async fn shown_settings_of(
    user: UserId,
    guild: GuildId,
    settings: &GuildSettings,
    list_limiter: &ConcurrencyLimiter,
    request: &HttpRequest,
) -> Result<(SettingsView, Rights), ApiError> {
    let found = audited(request, settings.find_as_user(user, guild));
    within_storage(list_limiter, request, found).await?.ok_or(ApiError::NotFound)
}

fn removed(sessions: &[Session]) -> Tally {
    Tally { removed: sessions.len() as u64, ..Tally::NOTHING }
}

/// Ends the session of a token, and audits it.
pub async fn end_session(
    sessions: &Arc<ManageSessions>,
    limiter: &ConcurrencyLimiter,
    request: &HttpRequest,
    token: String,
) -> Result<Session, ApiError> {
    let (sessions, audit) = (Arc::clone(sessions), Audit::of(request, "sign_out"));
    let work = async move {
        let ended = sessions.sign_out(&token).await.map_err(ApiError::from);
        let ended = ended.and_then(|session| session.ok_or(ApiError::TokenInvalid));
        ended.inspect(|session| audit.ended(session)).inspect_err(|error| audit.refused(error))
    };
    deadline::change(limiter, request, work).await
}

/// Audits ended sessions. Returns their number.
pub fn audited_end(audit: &Audit, ended: Result<Vec<Session>, StoreError>) -> Result<u64, ApiError> {
    let ended = ended.map_err(ApiError::from).inspect_err(|error| audit.refused(error))?;
    let tally = removed(&ended);
    audit.sessions(&ended, Some(tally));
    Ok(tally.removed)
}

/// Forgets a user: deletes all their data, and audits it.
pub async fn forget_user(
    forget: &Arc<ForgetUser>,
    limiter: &ConcurrencyLimiter,
    request: &HttpRequest,
    user: UserId,
) -> Result<Tally, ApiError> {
    let (forget, audit) = (Arc::clone(forget), Audit::of(request, "forget_user").user(user));
    let work = async move {
        let forgotten = forget.forget(user).await.map_err(ApiError::from);
        let Forgotten { tally, sessions } = forgotten.inspect_err(|error| audit.refused(error))?;
        audit.sessions(&sessions, Some(tally));
        Ok::<_, ApiError>(tally)
    };
    deadline::change(limiter, request, work).await
}

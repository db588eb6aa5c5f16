//! Authenticating session tokens, and listing and ending sessions.

use super::all::Core;
use crate::{
    model::{Timestamp, UserId},
    port::StoreError,
    session::{Cutoffs, Session, SessionLimits, TokenHash, Uses},
};
use std::{num::NonZeroU32, sync::Arc};

/// Why a token does not authenticate.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticateError {
    /// Malformed, unknown or revoked.
    #[error("the token was refused")]
    TokenRefused,
    /// Its session had expired, and was removed by this call.
    #[error("the session was over")]
    Expired(Session),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Authenticates tokens, and records uses of sessions.
pub struct Authenticate(pub(super) Arc<Core>);

impl Authenticate {
    /// Returns the valid session of a token. A token that this service never issued is rejected without a lookup. An
    /// expired session is removed, so that it stays ended even if the clock is set back.
    pub async fn authenticate(&self, token: &str) -> Result<Session, AuthenticateError> {
        let id = self.0.settings.tokens.verify(token).map_err(|_| AuthenticateError::TokenRefused)?;
        let mut session = self.find(&id).await?;
        let now = self.0.now();
        let ended = self.0.settings.limits.cutoffs(now);
        if ended.has_ended(&session) {
            session = self.expire(&id, ended).await?;
        }
        if now.since(session.last_seen_at) >= self.0.settings.limits.grain() {
            // A use that cannot be recorded now is recorded with the next one.
            if self.0.sessions().touch(Uses::one(&(id, now))).await.is_ok() {
                session.last_seen_at = now;
            }
        }
        Ok(session)
    }

    /// Like [`authenticate`](Self::authenticate), but only from the cache, and only if no use has to be recorded.
    /// `None` means not cached, not invalid.
    #[must_use]
    pub fn cached(&self, token: &str) -> Option<Session> {
        // No verification needed: only sessions that were found are cached, and only verified tokens are looked up.
        // An altered token has another hash.
        let session = self.0.sessions().cached(&self.0.settings.tokens.hash(token))?;
        let now = self.0.now();
        let unremarkable = !self.0.settings.limits.cutoffs(now).has_ended(&session)
            && now.since(session.last_seen_at) < self.0.settings.limits.grain();
        unremarkable.then_some(session)
    }

    /// Returns the limits of sessions.
    #[must_use]
    pub fn limits(&self) -> SessionLimits {
        self.0.settings.limits
    }

    async fn find(&self, id: &TokenHash) -> Result<Session, AuthenticateError> {
        self.0.sessions().find(id).await?.ok_or(AuthenticateError::TokenRefused)
    }

    /// Ends a session that seems to have expired. The store may be more recent: another node may have recorded a use.
    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Session, AuthenticateError> {
        let Some(over) = self.0.sessions().expire(id, ended).await? else {
            return self.find(id).await;
        };
        let _ = self.0.dispatcher.catch_up().await;
        self.0.revoke_unused.start(over.user);
        Err(AuthenticateError::Expired(over))
    }
}

/// Lists and ends sessions. The grant ends with a user's last session.
pub struct ManageSessions(pub(super) Arc<Core>);

impl ManageSessions {
    /// Returns the valid sessions of a user, oldest first.
    pub async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let ended = self.0.settings.limits.cutoffs(self.0.now());
        let sessions = self.0.sessions().of_user(user).await?;
        Ok(sessions.into_iter().filter(|session| !ended.has_ended(session)).collect())
    }

    /// Ends a session and returns it. `None` if it does not exist.
    pub async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let ended = self.0.sessions().revoke(id).await?;
        let _ = self.0.dispatcher.catch_up().await;
        if let Some(session) = &ended {
            self.0.revoke_unused.start(session.user);
        }
        Ok(ended)
    }

    /// Ends the session of a token and returns it. `None` if the token was not issued by this service or its session is gone.
    pub async fn sign_out(&self, token: &str) -> Result<Option<Session>, StoreError> {
        match self.0.settings.tokens.verify(token) {
            Ok(id) => self.revoke(&id).await,
            Err(_) => Ok(None),
        }
    }

    /// Ends all sessions of a user.
    pub async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let ended = self.0.sessions().revoke_user(user).await?;
        let _ = self.0.dispatcher.catch_up().await;
        self.0.revoke_unused.start(user);
        Ok(ended)
    }

    /// Returns when a session ends if it is not used again.
    #[must_use]
    pub fn ends_at(&self, session: &Session) -> Timestamp {
        self.0.settings.limits.ends_at(session, self.0.now())
    }

    /// Resets up to `limit` sessions dated ahead, from before the clock was set back, to now. Returns how many there
    /// were. The clock must be trustworthy: sessions that it sets back too far expire once it is right again.
    pub async fn rewind(&self, limit: NonZeroU32) -> Result<u64, StoreError> {
        let rewound = self.0.sessions().rewind(self.0.now(), limit).await?;
        let _ = self.0.dispatcher.catch_up().await;
        Ok(rewound)
    }

    /// Removes up to `limit` expired sessions and returns them. Their grants are revoked in the next round.
    pub async fn prune(&self, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        self.0.sessions().prune(self.0.settings.limits.cutoffs(self.0.now()), limit).await
    }
}

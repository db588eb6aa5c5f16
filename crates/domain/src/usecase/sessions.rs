//! Recognising sessions by their tokens, and listing and ending them.

use super::{ChangeDispatcher, RevokeUnusedGrants};
use crate::{
    model::{Timestamp, UserId},
    port::{Clock, SessionStore, StoreError},
    session::{Cutoffs, Session, SessionLimits, TokenHash, TokenRing, Uses},
};
use std::{num::NonZeroU32, sync::Arc};

/// Why a token opens nothing.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticateError {
    /// Malformed, unknown or revoked.
    #[error("the token was refused")]
    TokenRefused,
    /// Its session was over, and has been removed by this very call.
    #[error("the session was over")]
    Over(Session),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Recognises sessions, and records that they were used.
pub struct Authenticate {
    /// Sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// Gives the platform's grant back with the last session.
    pub revoke_unused: Arc<RevokeUnusedGrants>,
    /// Whoever keeps copies.
    pub dispatcher: Arc<ChangeDispatcher>,
    /// Decides which sessions are over.
    pub clock: Arc<dyn Clock>,
    /// Verifies session tokens.
    pub tokens: TokenRing,
    /// What ends sessions.
    pub limits: SessionLimits,
}

impl Authenticate {
    /// The live session behind a token. A token that this service never made is refused without a look-up. A session that
    /// is over is removed, so that it stays ended whatever the clock says next.
    pub async fn authenticate(&self, token: &str) -> Result<Session, AuthenticateError> {
        let id = self.tokens.verify(token).map_err(|_| AuthenticateError::TokenRefused)?;
        let mut session = self.find(&id).await?;
        let now = self.clock.now();
        let ended = self.limits.cutoffs(now);
        if ended.has_ended(&session) {
            session = self.expire(&id, ended).await?;
        }
        if now.since(session.last_seen_at) >= self.limits.grain() {
            // A use that cannot be recorded now is recorded with the next one.
            if self.sessions.touch(Uses::one(&(id, now))).await.is_ok() {
                session.last_seen_at = now;
            }
        }
        Ok(session)
    }

    /// The live session behind a token, where it is in memory and there is nothing to record. Nothing says nothing.
    #[must_use]
    pub fn cached(&self, token: &str) -> Option<Session> {
        // Only what was found is at hand, and only for tokens that were verified is anything looked for. So this is one of
        // them, to the last bit, or it has another hash.
        let session = self.sessions.cached(&self.tokens.hash(token))?;
        let now = self.clock.now();
        let unremarkable = !self.limits.cutoffs(now).has_ended(&session)
            && now.since(session.last_seen_at) < self.limits.grain();
        unremarkable.then_some(session)
    }

    async fn find(&self, id: &TokenHash) -> Result<Session, AuthenticateError> {
        self.sessions.find(id).await?.ok_or(AuthenticateError::TokenRefused)
    }

    /// Ends a session that seems to be over. The store may know better: another node has seen it used.
    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Session, AuthenticateError> {
        let Some(over) = self.sessions.expire(id, ended).await? else {
            return self.find(id).await;
        };
        let _ = self.dispatcher.catch_up().await;
        self.revoke_unused.start(over.user);
        Err(AuthenticateError::Over(over))
    }
}

/// Lists and ends sessions. With a user's last session the platform's grant ends too.
pub struct ManageSessions {
    /// Sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// Gives the platform's grant back with the last session.
    pub revoke_unused: Arc<RevokeUnusedGrants>,
    /// Decides which sessions are over.
    pub clock: Arc<dyn Clock>,
    /// Verifies session tokens.
    pub tokens: TokenRing,
    /// What ends sessions.
    pub limits: SessionLimits,
    /// Whoever keeps copies.
    pub dispatcher: Arc<ChangeDispatcher>,
}

impl ManageSessions {
    /// The live sessions of a user, the oldest first.
    pub async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let ended = self.limits.cutoffs(self.clock.now());
        let sessions = self.sessions.of_user(user).await?;
        Ok(sessions.into_iter().filter(|session| !ended.has_ended(session)).collect())
    }

    /// Ends one session. Returns it, or nothing where there is none.
    pub async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let ended = self.sessions.revoke(id).await?;
        let _ = self.dispatcher.catch_up().await;
        if let Some(session) = &ended {
            self.revoke_unused.start(session.user);
        }
        Ok(ended)
    }

    /// Ends the session of a token. Nothing where the token is none of ours or its session is gone.
    pub async fn sign_out(&self, token: &str) -> Result<Option<Session>, StoreError> {
        match self.tokens.verify(token) {
            Ok(id) => self.revoke(&id).await,
            Err(_) => Ok(None),
        }
    }

    /// Ends all sessions of a user.
    pub async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let ended = self.sessions.revoke_user(user).await?;
        let _ = self.dispatcher.catch_up().await;
        self.revoke_unused.start(user);
        Ok(ended)
    }

    /// When a session ends if it is not used again.
    #[must_use]
    pub fn ends_at(&self, session: &Session) -> Timestamp {
        self.limits.ends_at(session, self.clock.now())
    }

    /// Lets up to `limit` sessions age from now on that are dated ahead, from before the clock was set back, and returns
    /// how many there were. To be done by a clock that can be believed: sessions that it takes back too far are over
    /// once it is right again.
    pub async fn rewind(&self, limit: NonZeroU32) -> Result<u64, StoreError> {
        let rewound = self.sessions.rewind(self.clock.now(), limit).await?;
        let _ = self.dispatcher.catch_up().await;
        Ok(rewound)
    }

    /// Removes up to `limit` sessions that are over, and returns them. Their grants are given back in the next round.
    pub async fn prune(&self, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        self.sessions.prune(self.limits.cutoffs(self.clock.now()), limit).await
    }
}

//! Recognising a session by its token.

use super::{Following, GiveBack};
use crate::{
    port::{Clock, SessionStore, StoreError},
    session::{Cutoffs, Session, SessionLimits, TokenHash, TokenRing, Uses},
};
use std::sync::Arc;

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
    pub give_back: Arc<GiveBack>,
    /// Whoever keeps copies.
    pub following: Arc<Following>,
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
        if ended.end(&session) {
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
    pub fn at_hand(&self, token: &str) -> Option<Session> {
        // Only what was found is at hand, and only for tokens that were verified is anything looked for. So this is one of
        // them, to the last bit, or it has another hash.
        let session = self.sessions.at_hand(&self.tokens.hash(token))?;
        let now = self.clock.now();
        let unremarkable =
            !self.limits.cutoffs(now).end(&session) && now.since(session.last_seen_at) < self.limits.grain();
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
        let _ = self.following.catch_up().await;
        self.give_back.start(over.user);
        Err(AuthenticateError::Over(over))
    }
}

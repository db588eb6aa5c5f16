//! The operator's hold on sessions.

use super::{Following, GiveBack};
use crate::{
    model::{Timestamp, UserId},
    port::{Clock, SessionStore, StoreError},
    session::{Session, SessionLimits, TokenHash, TokenRing},
};
use std::{num::NonZeroU32, sync::Arc};

/// Lists and ends sessions. With a user's last session the platform's grant ends too.
pub struct ManageSessions {
    /// Sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// Gives the platform's grant back with the last session.
    pub give_back: Arc<GiveBack>,
    /// Decides which sessions are over.
    pub clock: Arc<dyn Clock>,
    /// Verifies session tokens.
    pub tokens: TokenRing,
    /// What ends sessions.
    pub limits: SessionLimits,
    /// Whoever keeps copies.
    pub following: Arc<Following>,
}

impl ManageSessions {
    /// The live sessions of a user, the oldest first.
    pub async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let ended = self.limits.cutoffs(self.clock.now());
        let sessions = self.sessions.of_user(user).await?;
        Ok(sessions.into_iter().filter(|session| !ended.end(session)).collect())
    }

    /// Ends one session. Returns it, or nothing where there is none.
    pub async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let ended = self.sessions.revoke(id).await?;
        let _ = self.following.catch_up().await;
        if let Some(session) = &ended {
            self.give_back.start(session.user);
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
        let _ = self.following.catch_up().await;
        self.give_back.start(user);
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
        let _ = self.following.catch_up().await;
        Ok(rewound)
    }

    /// Removes up to `limit` sessions that are over, and returns them. Their grants are given back in the next round.
    pub async fn prune(&self, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        self.sessions.prune(self.limits.cutoffs(self.clock.now()), limit).await
    }
}

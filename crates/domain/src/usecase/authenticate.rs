//! Recognising a session by its token.

use super::{Following, GiveBack};
use crate::{
    model::{Span, Timestamp},
    port::{Clock, SessionStore, StoreError},
    session::{Cutoffs, Session, SessionLimits, TokenHash, TokenRing, Uses},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Uses closer together than this are written back as one.
const WRITE_INTERVAL: Span = Span::from_seconds(60);

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

/// Recognises sessions, and remembers that they were used.
pub struct Authenticate {
    sessions: Arc<dyn SessionStore>,
    give_back: Arc<GiveBack>,
    following: Arc<Following>,
    clock: Arc<dyn Clock>,
    tokens: TokenRing,
    limits: SessionLimits,
    used: Mutex<HashMap<TokenHash, Timestamp>>,
}

impl Authenticate {
    /// Recognises the sessions of this store.
    pub fn new(
        sessions: Arc<dyn SessionStore>,
        give_back: Arc<GiveBack>,
        following: Arc<Following>,
        clock: Arc<dyn Clock>,
        tokens: TokenRing,
        limits: SessionLimits,
    ) -> Self {
        Self { sessions, give_back, following, clock, tokens, limits, used: Mutex::default() }
    }

    /// The live session behind a token. A token that this service never made is refused without a look-up. A session that
    /// is over is removed, so that it stays ended whatever the clock says next.
    pub async fn authenticate(&self, token: &str) -> Result<Session, AuthenticateError> {
        let id = self.tokens.verify(token).map_err(|_| AuthenticateError::TokenRefused)?.hash();
        let mut session = self.find(&id).await?;
        let now = self.clock.now();
        let ended = self.limits.cutoffs(now);
        if ended.end(&session) {
            session = self.expire(&id, ended).await?;
        }
        let unused_for = now.since(session.last_seen_at);
        if unused_for >= WRITE_INTERVAL.get() {
            self.used().insert(id, now);
            session.last_seen_at = now;
        }
        if unused_for >= self.limits.idle.get() / 2 {
            // Other nodes must know before they take it for idle. If it cannot be written now, it is noted still.
            let _ = self.sessions.touch(Uses::one(&(id, now))).await;
        }
        Ok(session)
    }

    /// The session with this id, as it was last used here or elsewhere.
    async fn find(&self, id: &TokenHash) -> Result<Session, AuthenticateError> {
        let mut session = self.sessions.find(id).await?.ok_or(AuthenticateError::TokenRefused)?;
        if let Some(noted) = self.used().get(id) {
            session.last_seen_at = session.last_seen_at.max(*noted);
        }
        Ok(session)
    }

    /// Ends a session that is over. It may turn out to live, where another node has seen it used.
    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Session, AuthenticateError> {
        let Some(over) = self.sessions.expire(id, ended).await? else {
            let found = self.find(id).await?;
            return if ended.end(&found) { Err(AuthenticateError::TokenRefused) } else { Ok(found) };
        };
        self.used().remove(id);
        self.following.show().await;
        self.give_back.start(over.user);
        Err(AuthenticateError::Over(over))
    }

    fn used(&self) -> MutexGuard<'_, HashMap<TokenHash, Timestamp>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes back which sessions were used, batch by batch. Called now and then, and once at the end.
    pub async fn write_back(&self) -> Result<(), StoreError> {
        let noted: Vec<_> = self.used().iter().map(|(id, seen)| (*id, *seen)).collect();
        for batch in Uses::batches(&noted) {
            self.sessions.touch(batch).await?;
            // Only what was written is forgotten: a later use of the same session waits for the next time.
            let mut used = self.used();
            for (id, seen) in batch.as_slice() {
                if used.get(id) == Some(seen) {
                    used.remove(id);
                }
            }
        }
        Ok(())
    }
}

//! Recognising a session by its token.

use crate::{
    model::{Span, Timestamp},
    port::{Clock, SessionStore, StoreError},
    session::{Session, SessionLimits, TokenHash, TokenRing},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Uses closer together than this are written back as one.
const GRAIN: Span = Span::from_seconds(60);

/// Why a token opens nothing.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticateError {
    /// Malformed, unknown, expired or revoked.
    #[error("the token was refused")]
    TokenRefused,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Recognises sessions, and remembers that they were used.
pub struct Authenticate {
    sessions: Arc<dyn SessionStore>,
    clock: Arc<dyn Clock>,
    tokens: TokenRing,
    limits: SessionLimits,
    used: Mutex<HashMap<TokenHash, Timestamp>>,
}

impl Authenticate {
    /// Recognises the sessions of this store.
    pub fn new(
        sessions: Arc<dyn SessionStore>,
        clock: Arc<dyn Clock>,
        tokens: TokenRing,
        limits: SessionLimits,
    ) -> Self {
        Self { sessions, clock, tokens, limits, used: Mutex::default() }
    }

    /// The live session behind a token. A token that this service never made is refused without a look-up.
    pub async fn authenticate(&self, token: &str) -> Result<Session, AuthenticateError> {
        let token = self.tokens.verify(token).map_err(|_| AuthenticateError::TokenRefused)?;
        let mut session = self.sessions.find(&token.hash()).await?.ok_or(AuthenticateError::TokenRefused)?;
        let now = self.clock.now();
        let unused_for = now.since(session.last_seen_at);
        self.note_use(&mut session, now)?;
        if unused_for >= self.limits.idle.get() / 2 {
            // Other nodes must know before they take it for idle. If it cannot be written now, it is noted still.
            let _ = self.sessions.touch(&[(session.id, now)]).await;
        }
        Ok(session)
    }

    /// Refuses a session that is over; otherwise remembers that it was used now.
    fn note_use(&self, session: &mut Session, now: Timestamp) -> Result<(), AuthenticateError> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(noted) = used.get(&session.id) {
            session.last_seen_at = session.last_seen_at.max(*noted);
        }
        if self.limits.cutoffs(now).end(session) {
            return Err(AuthenticateError::TokenRefused);
        }
        if now.since(session.last_seen_at) >= GRAIN.get() {
            used.insert(session.id, now);
            session.last_seen_at = now;
        }
        Ok(())
    }

    /// Writes back which sessions were used. Called now and then, and once at the end.
    pub async fn write_back(&self) -> Result<(), StoreError> {
        let noted: Vec<_> = {
            let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            used.iter().map(|(id, seen)| (*id, *seen)).collect()
        };
        if noted.is_empty() {
            return Ok(());
        }
        self.sessions.touch(&noted).await?;
        // Only what was written is forgotten: a later use of the same session waits for the next time.
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, seen) in noted {
            if used.get(&id) == Some(&seen) {
                used.remove(&id);
            }
        }
        Ok(())
    }
}

//! The `SignIns` port with invalidation on write.

use crate::{key::Key, sessions::CachedSessions};
use async_trait::async_trait;
use companion_domain::{
    model::UserId,
    port::{GrantContent, GrantVersion, SignIns, StoreError},
    session::{Cutoffs, Session},
};
use std::{num::NonZeroU32, sync::Arc};

/// Sign-ins whose writes invalidate sessions and listings.
pub(crate) struct InvalidatingSignIns {
    pub(crate) inner: Arc<dyn SignIns>,
    pub(crate) sessions: Arc<CachedSessions>,
}

impl InvalidatingSignIns {
    /// Invalidates the ended sessions, or all sessions after an error, since it is unknown which have ended.
    fn invalidate(&self, user: UserId, ended: &Result<Option<Vec<Session>>, StoreError>) {
        match ended {
            Ok(ended) => self.sessions.invalidate_ended(ended.as_deref().unwrap_or_default()),
            Err(_) => self.sessions.entries.invalidate_all_sessions(),
        }
        self.sessions.entries.invalidate([Key::User(user)]);
    }
}

#[async_trait]
impl SignIns for InvalidatingSignIns {
    async fn begin(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
        grant: &GrantContent,
    ) -> Result<Vec<Session>, StoreError> {
        let ended = self.sessions.allow_for_lag(ended);
        let begun = self.inner.begin(session, cap, ended, grant).await;
        self.sessions.invalidate_ended(begun.as_deref().unwrap_or_default());
        self.sessions.entries.invalidate([Key::Session(session.id), Key::User(session.user)]);
        begun
    }

    async fn end(&self, user: UserId, version: GrantVersion) -> Result<Option<Vec<Session>>, StoreError> {
        let ended = self.inner.end(user, version).await;
        self.invalidate(user, &ended);
        ended
    }

    async fn end_without_grant(&self, user: UserId) -> Result<Option<Vec<Session>>, StoreError> {
        let ended = self.inner.end_without_grant(user).await;
        self.invalidate(user, &ended);
        ended
    }
}

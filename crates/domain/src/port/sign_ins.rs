//! Sessions and grants where they belong together.

use super::{GrantContent, GrantStore, GrantVersion, SessionStore, StoreError};
use crate::{
    model::UserId,
    session::{Cutoffs, Session},
};
use async_trait::async_trait;
use std::{num::NonZeroU32, sync::Arc};

/// Begins and ends sessions together with the grant that they live on.
///
/// A session without a grant opens nothing, so whoever crashes must not leave one behind. The other way round is fine: a
/// grant without sessions waits to be given back to the platform. So ending a session needs nothing of this port.
#[async_trait]
pub trait SignIns: Send + Sync {
    /// Adds a session as [`SessionStore::create`] does and writes its user's grant as [`GrantStore::replace`] does, in one
    /// step: both or neither, and nobody sees one without the other. Returns the sessions that were taken away, in any
    /// order. A session whose id exists already is a conflict.
    async fn begin(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
        grant: &GrantContent,
    ) -> Result<Vec<Session>, StoreError>;

    /// Removes this version of a user's grant, and with it all sessions of the user, in one step. Returns them, the oldest
    /// first; nothing where the grant has another version by now, or is gone: then nothing is removed.
    async fn end(&self, user: UserId, version: GrantVersion) -> Result<Option<Vec<Session>>, StoreError>;

    /// Ends all sessions of a user who has no grant, in one step. Returns them, the oldest first; nothing where there is
    /// a grant: then nothing is removed.
    async fn end_without_grant(&self, user: UserId) -> Result<Option<Vec<Session>>, StoreError>;
}

/// Sign-ins over two stores that know nothing of each other, for whoever exchanges one of the two.
///
/// It works in two steps, so it cannot keep the promise of one: a crash between them leaves a session without a grant,
/// which the next request of its user ends.
#[derive(Clone)]
pub struct SeparateSignIns {
    /// Sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// Grants.
    pub grants: Arc<dyn GrantStore>,
}

impl SeparateSignIns {
    /// Whether these are the very same stores.
    pub(super) fn are(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.sessions, &other.sessions) && Arc::ptr_eq(&self.grants, &other.grants)
    }

    /// Ends these sessions, as far as they have not ended by now.
    async fn end_all(&self, sessions: Vec<Session>) -> Result<Vec<Session>, StoreError> {
        let mut ended = Vec::new();
        for session in sessions {
            ended.extend(self.sessions.revoke(&session.id).await?);
        }
        Ok(ended)
    }
}

#[async_trait]
impl SignIns for SeparateSignIns {
    /// First the session, then the grant: a grant that is seen without a session is given back to the platform.
    async fn begin(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
        grant: &GrantContent,
    ) -> Result<Vec<Session>, StoreError> {
        let gone = self.sessions.create(session, cap, ended).await?;
        if let Err(error) = self.grants.replace(session.user, grant).await {
            self.sessions.revoke(&session.id).await?;
            return Err(error);
        }
        Ok(gone)
    }

    async fn end(&self, user: UserId, version: GrantVersion) -> Result<Option<Vec<Session>>, StoreError> {
        // Read before the grant goes: a session that is made from now on has a grant of its own.
        let sessions = self.sessions.of_user(user).await?;
        if !self.grants.remove(user, version).await? {
            return Ok(None);
        }
        self.end_all(sessions).await.map(Some)
    }

    async fn end_without_grant(&self, user: UserId) -> Result<Option<Vec<Session>>, StoreError> {
        let sessions = self.sessions.of_user(user).await?;
        if self.grants.find(user).await?.is_some() {
            return Ok(None);
        }
        self.end_all(sessions).await.map(Some)
    }
}

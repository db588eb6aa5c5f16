//! Sessions and grants where they belong together.

use crate::{
    journal::Journal,
    state::{MemoryStorage, State},
    table::Table,
};
use async_trait::async_trait;
use companion_domain::{
    model::UserId,
    port::{GrantContent, GrantVersion, SignIns, StoreError},
    session::{Cutoffs, Session},
};
use std::num::NonZeroU32;

#[async_trait]
impl SignIns for MemoryStorage {
    async fn begin(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
        grant: &GrantContent,
    ) -> Result<Vec<Session>, StoreError> {
        self.write(|state, journal| {
            let gone = state.sessions.create(session, cap, ended, journal)?;
            state.grants.replace(session.user, grant, journal);
            Ok(gone)
        })
    }

    async fn end(&self, user: UserId, version: GrantVersion) -> Result<Option<Vec<Session>>, StoreError> {
        Ok(self.write(|state, journal| {
            if !state.grants.is_at(user, version) {
                return None;
            }
            state.grants.remove(&user, journal);
            Some(end_all(state, user, journal))
        }))
    }

    async fn end_without_grant(&self, user: UserId) -> Result<Option<Vec<Session>>, StoreError> {
        Ok(self.write(|state, journal| (!state.grants.has(user)).then(|| end_all(state, user, journal))))
    }
}

/// Ends all sessions of a user.
pub(crate) fn end_all(state: &mut State, user: UserId, journal: &mut Journal) -> Vec<Session> {
    let sessions: Vec<_> = state.sessions.of_user(user).copied().collect();
    for session in &sessions {
        state.sessions.remove(&session.id, journal);
    }
    sessions
}

//! Sessions and grants where they belong together.

use crate::{keyed::Table, state::MemoryStorage};
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
            Some(state.sessions.end_all(user, journal))
        }))
    }

    async fn end_without_grant(&self, user: UserId) -> Result<Option<Vec<Session>>, StoreError> {
        Ok(self
            .write(|state, journal| (!state.grants.has(user)).then(|| state.sessions.end_all(user, journal))))
    }
}

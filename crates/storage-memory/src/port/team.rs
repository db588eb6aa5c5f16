//! The team.

use crate::state::MemoryStorage;
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{Roster, TeamMember},
    port::{StoreError, TeamRoster},
};
use std::sync::Arc;

#[async_trait]
impl TeamRoster for MemoryStorage {
    async fn all(&self) -> Result<Arc<[TeamMember]>, StoreError> {
        Ok(self.read().team.all())
    }

    async fn replace(&self, roster: &Roster) -> Result<Tally, StoreError> {
        let members = roster.as_slice().to_vec();
        Ok(self.write(|state, journal| state.team.merge(members, true, journal)))
    }
}

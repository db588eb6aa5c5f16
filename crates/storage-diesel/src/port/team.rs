//! The team.

use crate::{storage::DieselStorage, table::team};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{Roster, TeamMember},
    port::{StoreError, TeamRoster},
};
use std::sync::Arc;

#[async_trait]
impl TeamRoster for DieselStorage {
    async fn all(&self) -> Result<Arc<[TeamMember]>, StoreError> {
        let unreadable = self.unreadable();
        self.read(move |db| Ok(team::all(db, &unreadable)?.into())).await
    }

    async fn replace(&self, roster: &Roster) -> Result<Tally, StoreError> {
        let roster = roster.clone();
        self.write(move |write| team::replace(write, &roster)).await
    }
}

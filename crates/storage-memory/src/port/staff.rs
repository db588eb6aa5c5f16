//! Permissions granted by name.

use crate::{keyed::Table, state::MemoryStorage};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{StaffGrants, UserId},
    port::{StaffDirectory, StoreError},
};

#[async_trait]
impl StaffDirectory for MemoryStorage {
    async fn grants(&self, user: UserId) -> Result<Option<StaffGrants>, StoreError> {
        Ok(self.read().staff.get(&user).copied())
    }

    async fn put(&self, user: UserId, grants: StaffGrants) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.staff.put(user, grants, journal)))
    }

    async fn remove(&self, user: UserId) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.staff.remove(&user, journal)))
    }
}

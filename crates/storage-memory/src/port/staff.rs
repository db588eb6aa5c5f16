//! Permissions granted by name.

use crate::{
    state::MemoryStorage,
    table::{Table, gone, set},
};
use async_trait::async_trait;
use companion_domain::{
    change::{Subject, Tally},
    model::{StaffGrants, UserId},
    port::{StaffDirectory, StoreError},
};
use std::collections::HashMap;

/// Grants by name, by their user.
#[derive(Default)]
pub(crate) struct Staff(HashMap<UserId, StaffGrants>);

impl Staff {
    pub(crate) fn all(&self) -> impl Iterator<Item = (UserId, StaffGrants)> {
        self.0.iter().map(|(user, grants)| (*user, *grants))
    }
}

impl Table for Staff {
    type Key = UserId;
    type Row = StaffGrants;

    fn keys(&self) -> Vec<UserId> {
        self.0.keys().copied().collect()
    }

    fn set(&mut self, key: UserId, row: StaffGrants) -> Tally {
        set(&mut self.0, key, row)
    }

    fn unset(&mut self, key: &UserId) -> Tally {
        gone(self.0.remove(key))
    }

    fn subject(key: &UserId) -> Subject {
        Subject::Staff(*key)
    }
}

#[async_trait]
impl StaffDirectory for MemoryStorage {
    async fn grants(&self, user: UserId) -> Result<Option<StaffGrants>, StoreError> {
        Ok(self.read().staff.0.get(&user).copied())
    }

    async fn put(&self, user: UserId, grants: StaffGrants) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.staff.put(user, grants, journal)))
    }

    async fn remove(&self, user: UserId) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.staff.remove(&user, journal)))
    }
}

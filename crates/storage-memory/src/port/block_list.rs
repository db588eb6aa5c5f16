//! Users who may not use the service.

use crate::{
    state::MemoryStorage,
    table::{Table, gone, set},
};
use async_trait::async_trait;
use companion_domain::{
    change::{Subject, Tally},
    model::UserId,
    port::{BlockList, StoreError},
};
use std::collections::HashMap;

/// Blocked users. A row says nothing but that it is there.
#[derive(Default)]
pub(crate) struct BlockedUsers(HashMap<UserId, ()>);

impl BlockedUsers {
    pub(crate) fn all(&self) -> impl Iterator<Item = UserId> {
        self.0.keys().copied()
    }
}

impl Table for BlockedUsers {
    type Key = UserId;
    type Row = ();

    fn keys(&self) -> Vec<UserId> {
        self.all().collect()
    }

    fn set(&mut self, key: UserId, row: ()) -> Tally {
        set(&mut self.0, key, row)
    }

    fn unset(&mut self, key: &UserId) -> Tally {
        gone(self.0.remove(key))
    }

    fn subject(key: &UserId) -> Subject {
        Subject::Blocked(*key)
    }
}

#[async_trait]
impl BlockList for MemoryStorage {
    async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError> {
        Ok(self.read().blocked.0.contains_key(&user))
    }

    async fn block(&self, user: UserId) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.blocked.put(user, (), journal)))
    }

    async fn unblock(&self, user: UserId) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.blocked.remove(&user, journal)))
    }
}

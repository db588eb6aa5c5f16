//! Users who may not use the service.

use crate::{keyed::Table, state::MemoryStorage};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::UserId,
    port::{BlockList, StoreError},
};

#[async_trait]
impl BlockList for MemoryStorage {
    async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError> {
        Ok(self.read().blocked.get(&user).is_some())
    }

    async fn block(&self, user: UserId) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.blocked.put(user, (), journal)))
    }

    async fn unblock(&self, user: UserId) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.blocked.remove(&user, journal)))
    }
}

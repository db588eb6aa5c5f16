//! Blocked users.

use crate::{storage::DieselStorage, table::blocked};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::UserId,
    port::{BlockList, StoreError},
};

#[async_trait]
impl BlockList for DieselStorage {
    async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError> {
        self.read(move |db| Ok(blocked::is_blocked(db, user)?)).await
    }

    async fn block(&self, user: UserId) -> Result<Tally, StoreError> {
        self.write(move |write| blocked::put(write, user)).await
    }

    async fn unblock(&self, user: UserId) -> Result<Tally, StoreError> {
        self.write(move |write| blocked::remove(write, user)).await
    }
}

//! Users who may not use the service.

use super::Told;
use crate::key::Key;
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::UserId,
    port::{BlockList, StoreError},
};

#[async_trait]
impl BlockList for Told<dyn BlockList> {
    async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError> {
        self.inner.is_blocked(user).await
    }

    async fn block(&self, user: UserId) -> Result<Tally, StoreError> {
        self.telling([Key::User(user)], self.inner.block(user)).await
    }

    async fn unblock(&self, user: UserId) -> Result<Tally, StoreError> {
        self.telling([Key::User(user)], self.inner.unblock(user)).await
    }
}

//! Premium subscriptions.

use crate::{keyed::Table, state::MemoryStorage};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{GuildId, Subscription, UserId},
    port::{StoreError, SubscriptionStore},
};
use std::sync::Arc;

#[async_trait]
impl SubscriptionStore for MemoryStorage {
    async fn of_user(&self, user: UserId) -> Result<Option<Arc<Subscription>>, StoreError> {
        Ok(self.read().subscriptions.of_user(user))
    }

    async fn naming(&self, guilds: &[GuildId]) -> Result<Vec<Arc<Subscription>>, StoreError> {
        Ok(self.read().subscriptions.naming(guilds))
    }

    async fn put(&self, subscription: &Subscription) -> Result<Tally, StoreError> {
        let row = Arc::new(subscription.clone());
        Ok(self.write(|state, journal| state.subscriptions.put(row.user, row, journal)))
    }

    async fn remove(&self, user: UserId) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.subscriptions.remove(&user, journal)))
    }
}

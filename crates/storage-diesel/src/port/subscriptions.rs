//! Premium subscriptions.

use crate::{storage::DieselStorage, table::subscriptions};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{GuildId, Subscription, UserId},
    port::{StoreError, SubscriptionStore},
};
use std::sync::Arc;

#[async_trait]
impl SubscriptionStore for DieselStorage {
    async fn of_user(&self, user: UserId) -> Result<Option<Arc<Subscription>>, StoreError> {
        let unreadable = self.unreadable();
        self.read(move |db| Ok(subscriptions::of_user(db, user, &unreadable)?)).await
    }

    async fn naming(&self, guilds: &[GuildId]) -> Result<Vec<Arc<Subscription>>, StoreError> {
        if guilds.is_empty() {
            return Ok(Vec::new());
        }
        let (guilds, unreadable) = (guilds.to_vec(), self.unreadable());
        self.snapshot(move |db| Ok(subscriptions::naming(db, &guilds, &unreadable)?)).await
    }

    async fn put(&self, subscription: &Subscription) -> Result<Tally, StoreError> {
        let subscription = subscription.clone();
        self.write(move |write| subscriptions::put(write, &subscription)).await
    }

    async fn remove(&self, user: UserId) -> Result<Tally, StoreError> {
        self.write(move |write| subscriptions::remove(write, user)).await
    }
}

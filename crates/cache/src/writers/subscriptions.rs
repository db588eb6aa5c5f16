//! Premium subscriptions.

use super::Told;
use crate::key::Key;
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{GuildId, Subscription, UserId},
    port::{StoreError, SubscriptionStore},
};
use std::sync::Arc;

#[async_trait]
impl SubscriptionStore for Told<dyn SubscriptionStore> {
    async fn of_user(&self, user: UserId) -> Result<Option<Arc<Subscription>>, StoreError> {
        self.inner.of_user(user).await
    }

    async fn naming(&self, guilds: &[GuildId]) -> Result<Vec<Arc<Subscription>>, StoreError> {
        self.inner.naming(guilds).await
    }

    async fn put(&self, subscription: &Subscription) -> Result<Tally, StoreError> {
        let named = subscription.guilds.as_slice().iter().copied().map(Key::Guild);
        let keys = named.chain([Key::Subscriber(subscription.user)]);
        self.telling(keys, self.inner.put(subscription)).await
    }

    async fn remove(&self, user: UserId) -> Result<Tally, StoreError> {
        self.telling([Key::Subscriber(user)], self.inner.remove(user)).await
    }
}

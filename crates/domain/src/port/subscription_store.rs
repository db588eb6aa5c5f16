//! Premium subscriptions.

use super::StoreError;
use crate::{
    change::Tally,
    model::{GuildId, Subscription, UserId},
};
use async_trait::async_trait;
use std::sync::Arc;

/// Knows the premium subscriptions, one per user.
#[async_trait]
pub trait SubscriptionStore: Send + Sync {
    /// A user's subscription.
    async fn of_user(&self, user: UserId) -> Result<Option<Arc<Subscription>>, StoreError>;

    /// Every subscription that names one of `guilds`, each once and whole, in any order.
    async fn naming(&self, guilds: &[GuildId]) -> Result<Vec<Arc<Subscription>>, StoreError>;

    /// Adds a user's subscription, or replaces it.
    async fn put(&self, subscription: &Subscription) -> Result<Tally, StoreError>;

    /// Removes a user's subscription.
    async fn remove(&self, user: UserId) -> Result<Tally, StoreError>;
}

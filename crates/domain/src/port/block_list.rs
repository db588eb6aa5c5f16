//! Users who may not use the service.

use super::StoreError;
use crate::{change::Tally, model::UserId};
use async_trait::async_trait;

/// Knows who is blocked.
#[async_trait]
pub trait BlockList: Send + Sync {
    /// Whether the user is blocked. Nothing else need be known of a user.
    async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError>;

    /// Blocks a user: [`ADDED`](Tally::ADDED), or [`NOTHING`](Tally::NOTHING) where the user is blocked already.
    async fn block(&self, user: UserId) -> Result<Tally, StoreError>;

    /// Lets a user in again: [`REMOVED`](Tally::REMOVED), or [`NOTHING`](Tally::NOTHING) where the user is not blocked.
    async fn unblock(&self, user: UserId) -> Result<Tally, StoreError>;
}

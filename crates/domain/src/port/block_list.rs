//! Users who may not use the service.

use super::StoreError;
use crate::{change::Tally, model::UserId};
use async_trait::async_trait;

/// Knows who is blocked.
#[async_trait]
pub trait BlockList: Send + Sync {
    /// Whether the user is blocked.
    async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError>;

    /// Blocks a user.
    async fn block(&self, user: UserId) -> Result<Tally, StoreError>;

    /// Lets a user in again.
    async fn unblock(&self, user: UserId) -> Result<Tally, StoreError>;
}

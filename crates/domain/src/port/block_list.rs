//! Users who may not use the service.

use super::StoreError;
use crate::model::UserId;
use async_trait::async_trait;

/// Knows who is blocked.
#[async_trait]
pub trait BlockList: Send + Sync {
    /// Whether the user is blocked. Nothing else need be known of a user.
    async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError>;
}

//! What the bot's clusters report about themselves.

use super::StoreError;
use crate::model::Heartbeat;
use async_trait::async_trait;
use std::sync::Arc;

/// Knows the last report of each cluster.
#[async_trait]
pub trait BotTelemetry: Send + Sync {
    /// The last report of every cluster, silent or not, in any order.
    async fn clusters(&self) -> Result<Vec<Arc<Heartbeat>>, StoreError>;
}

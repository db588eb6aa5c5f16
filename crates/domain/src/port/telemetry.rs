//! What the bot's clusters report about themselves.

use super::StoreError;
use crate::{
    change::Tally,
    model::{Heartbeat, Timestamp},
};
use async_trait::async_trait;
use std::sync::Arc;

/// Keeps the last report of each cluster.
#[async_trait]
pub trait BotTelemetry: Send + Sync {
    /// Keeps a report in place of the cluster's earlier one. A report that came in before the one that is kept is
    /// late, and changes nothing.
    async fn record(&self, heartbeat: &Heartbeat) -> Result<Tally, StoreError>;

    /// The last report of every cluster, silent or not, in any order.
    async fn clusters(&self) -> Result<Vec<Arc<Heartbeat>>, StoreError>;

    /// Forgets clusters whose last report came in before `time`.
    async fn forget_before(&self, time: Timestamp) -> Result<Tally, StoreError>;
}

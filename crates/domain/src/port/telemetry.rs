//! What the bot's clusters report about themselves.

use super::StoreError;
use crate::{
    change::Tally,
    model::{ClusterId, Heartbeat, Timestamp},
};
use async_trait::async_trait;
use std::sync::Arc;

/// Keeps the last report of each cluster.
#[async_trait]
pub trait BotTelemetry: Send + Sync {
    /// Keeps a report in place of the cluster's earlier one, whatever their times say: of several reports the last to
    /// arrive stays, since a clock that was set back must not keep new ones out.
    async fn record(&self, heartbeat: &Heartbeat) -> Result<Tally, StoreError>;

    /// The last report of every cluster, silent or not, in any order.
    async fn clusters(&self) -> Result<Vec<Arc<Heartbeat>>, StoreError>;

    /// Forgets each of these clusters, unless it has reported since: its last report must have come in at the time given
    /// here. Who is silent is for the caller to know; a store could only compare dates. Reports that cannot be read may be
    /// taken along, and then count.
    async fn forget_silent(&self, silent: &[(ClusterId, Timestamp)]) -> Result<Tally, StoreError>;
}

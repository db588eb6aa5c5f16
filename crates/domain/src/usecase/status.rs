//! Reporting how the service and the bot are.

use crate::{
    model::Span,
    port::{BotTelemetry, Clock, StoreError},
    rules::{BotStatus, bot_status},
};
use std::sync::Arc;

/// Reports how the bot is. What concerns one request alone, its latency, is known to whoever answers it.
pub struct ReportStatus {
    /// What the bot reports.
    pub telemetry: Arc<dyn BotTelemetry>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// How long a cluster may say nothing and still count.
    pub silent_after: Span,
}

impl ReportStatus {
    /// How the bot is now.
    pub async fn report(&self) -> Result<BotStatus, StoreError> {
        let clusters = self.telemetry.clusters().await?;
        Ok(bot_status(&clusters, self.clock.now(), self.silent_after))
    }
}

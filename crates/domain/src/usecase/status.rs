//! Reporting how the service and the bot are.

use crate::{
    model::Span,
    port::{BotTelemetry, Clock, StoreError},
    rules::{BotStatus, LastHeard, bot_status},
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
    /// How the bot is now, for someone who has only just come and knows of no report when it arrived.
    pub async fn report(&self) -> Result<BotStatus, StoreError> {
        let now = self.clock.now();
        let clusters = self.telemetry.clusters().await?.into_iter();
        let heard = clusters.map(|report| LastHeard { silent_for: now.age_of(report.received_at), report });
        Ok(bot_status(heard, now, self.silent_after))
    }
}

//! Reporting how the bot is.

use super::Clusters;
use crate::{
    model::{ClusterId, Span, Timestamp},
    port::{BotTelemetry, ChangeBatch, Clock, StoreError},
    rules::{BotStatus, Holds, bot_status},
};
use std::{sync::Arc, time::Duration};

/// A moment, by both readings of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The date.
    pub now: Timestamp,
    /// Monotonic time.
    pub monotonic: Duration,
}

impl Moment {
    /// This moment.
    #[must_use]
    pub fn of(clock: &dyn Clock) -> Self {
        Self { now: clock.now(), monotonic: clock.monotonic() }
    }
}

/// The bot's clusters in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClusterCount {
    /// Those that count.
    pub live: u32,
    /// Those that were heard from once and are silent now.
    pub silent: u32,
    /// How long ago any of them was heard from.
    pub last_heard: Option<Duration>,
}

/// Reports how the bot is. What concerns one request alone, its latency, is known to whoever answers it.
pub struct ReportStatus {
    /// What the bot reports.
    pub telemetry: Arc<dyn BotTelemetry>,
    /// Counts uptimes and silence.
    pub clock: Arc<dyn Clock>,
    /// How long a cluster may say nothing and still count.
    pub silent_after: Span,
}

impl ReportStatus {
    /// What every cluster said last, as of these news. Whoever keeps it hands it in again with the next.
    pub async fn clusters(
        &self,
        earlier: Option<&Clusters>,
        batch: &ChangeBatch,
    ) -> Result<Clusters, StoreError> {
        Ok(Clusters::after(earlier, self.telemetry.clusters().await?, batch, &*self.clock))
    }

    /// How the bot is, and how long that holds while nobody reports.
    #[must_use]
    pub fn report(&self, clusters: &Clusters, moment: Moment) -> (BotStatus, Holds) {
        let Moment { now, monotonic } = moment;
        let status = bot_status(clusters.last_heard(monotonic), now, self.silent_after);
        let holds = Holds::of(&status, clusters.last_heard(monotonic), now, self.silent_after);
        (status, holds)
    }

    /// How many clusters count now, and how many no longer do because they are silent.
    #[must_use]
    pub fn count(&self, clusters: &Clusters) -> ClusterCount {
        let mut count = ClusterCount::default();
        for heard in clusters.last_heard(self.clock.monotonic()) {
            let silent = heard.silent_for >= self.silent_after.get();
            *if silent { &mut count.silent } else { &mut count.live } += 1;
            count.last_heard =
                Some(count.last_heard.map_or(heard.silent_for, |last| last.min(heard.silent_for)));
        }
        count
    }

    /// Clusters that have said nothing for so long that they can be forgotten, and when their last report came in. One
    /// that this process could not have heard of yet is none of them, however long ago its date is.
    #[must_use]
    pub fn silent(&self, clusters: &Clusters, length: Duration) -> Vec<(ClusterId, Timestamp)> {
        clusters.silent(length, self.silent_after.get(), self.clock.monotonic())
    }
}

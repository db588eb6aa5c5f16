//! Reporting the status of the bot.

use super::{Clusters, Periods};
use crate::{
    model::{Notice, Span, Timestamp},
    port::{BotTelemetry, ChangeBatch, Clock, GuildDirectory, GuildTotals, StatusHistory, StoreError},
    rules::{BotHealth, BotStatus, Holds, bot_status},
};
use std::{sync::Arc, time::Duration};

/// A moment, by both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The date.
    pub now: Timestamp,
    /// Monotonic time.
    pub monotonic: Duration,
}

impl Moment {
    /// Returns the current moment.
    #[must_use]
    pub fn of(clock: &dyn Clock) -> Self {
        Self { now: clock.now(), monotonic: clock.monotonic() }
    }
}

/// The number of clusters by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClusterCount {
    /// Live clusters.
    pub live: u32,
    /// Clusters that have reported once and are silent now.
    pub silent: u32,
    /// Time since the most recent report of any cluster.
    pub last_heard: Option<Duration>,
}

/// Reports the status of the bot. The latency of a request is not part of it; the request's handler measures that.
pub struct ReportStatus {
    /// The bot's reports.
    pub telemetry: Arc<dyn BotTelemetry>,
    /// The bot's history, and notices.
    pub history: Arc<dyn StatusHistory>,
    /// The guilds that have the bot.
    pub guilds: Arc<dyn GuildDirectory>,
    /// Measures uptime and silence.
    pub clock: Arc<dyn Clock>,
    /// How long a cluster may be silent and still count as live.
    pub silent_after: Span,
}

impl ReportStatus {
    /// Returns the last report of every cluster after this batch of changes. The caller passes the result as
    /// `earlier` next time.
    pub async fn clusters(
        &self,
        earlier: Option<&Clusters>,
        batch: &ChangeBatch,
    ) -> Result<Clusters, StoreError> {
        Ok(Clusters::after(earlier, self.telemetry.clusters().await?, batch, &*self.clock))
    }

    /// Returns the bot's history after a change of it. The caller passes the result as `earlier` next time.
    pub async fn periods(&self, earlier: Option<&Periods>) -> Result<Periods, StoreError> {
        Ok(Periods::after(earlier, self.history.periods().await?, &*self.clock))
    }

    /// Returns all notices, the latest first.
    pub async fn notices(&self) -> Result<Vec<Notice>, StoreError> {
        let mut notices = self.history.notices().await?;
        notices.sort_by(|one, other| (other.from, &other.id).cmp(&(one.from, &one.id)));
        Ok(notices)
    }

    /// Returns how many guilds have the bot, and how many members they have. `None` if that is not known.
    pub async fn totals(&self) -> Result<Option<GuildTotals>, StoreError> {
        self.guilds.totals().await
    }

    /// Returns the health of the bot.
    #[must_use]
    pub fn health(&self, clusters: &Clusters) -> BotHealth {
        BotHealth::of(clusters.last_heard(self.clock.monotonic()), self.silent_after)
    }

    /// Returns the status, and how long it stays valid without a new report.
    #[must_use]
    pub fn report(&self, clusters: &Clusters, moment: Moment) -> (BotStatus, Holds) {
        let Moment { now, monotonic } = moment;
        let status = bot_status(clusters.last_heard(monotonic), now, self.silent_after);
        let holds = Holds::of(&status, clusters.last_heard(monotonic), now, self.silent_after);
        (status, holds)
    }

    /// Returns the number of live and of silent clusters. Silent clusters whose shards others have taken over do not count.
    #[must_use]
    pub fn count(&self, clusters: &Clusters) -> ClusterCount {
        let silent = self.health(clusters).silent;
        let mut count = ClusterCount {
            silent: u32::try_from(silent.len()).unwrap_or(u32::MAX),
            ..ClusterCount::default()
        };
        for heard in clusters.last_heard(self.clock.monotonic()) {
            count.live += u32::from(heard.silent_for < self.silent_after.get());
            count.last_heard =
                Some(count.last_heard.map_or(heard.silent_for, |last| last.min(heard.silent_for)));
        }
        count
    }
}

//! Reporting the status of the bot.
//!
//! Silence is measured in monotonic time, from when this process learned of a report. So neither setting the clock
//! nor the clock of another node hides a cluster or keeps it visible. Only a report from before this process started
//! is judged by its date.

use super::Periods;
use crate::{
    change::Subject,
    model::{ClusterId, Heartbeat, Notice, Span, Timestamp},
    port::{BotTelemetry, ChangeBatch, Clock, GuildDirectory, GuildTotals, StatusHistory, StoreError},
    rules::{BotHealth, BotStatus, Holds, LastHeard, bot_status},
};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

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

/// The last report of every cluster, as of the last batch of changes.
pub struct Clusters(Vec<TrackedReport>);

struct TrackedReport {
    report: Arc<Heartbeat>,
    /// When this process learned of it, in monotonic time.
    learned_at: Duration,
    /// Its age at that time.
    age: Duration,
}

impl TrackedReport {
    fn silent_for(&self, monotonic: Duration) -> Duration {
        self.age.saturating_add(self.watched_for(monotonic))
    }

    /// Returns how much of the silence this process has observed itself.
    fn watched_for(&self, monotonic: Duration) -> Duration {
        monotonic.saturating_sub(self.learned_at)
    }
}

impl Clusters {
    /// Returns the clusters with these reports, which were read after `batch` arrived.
    #[must_use]
    pub fn after(
        earlier: Option<&Self>,
        reports: Vec<Arc<Heartbeat>>,
        batch: &ChangeBatch,
        clock: &dyn Clock,
    ) -> Self {
        let (now, learned_at) = (clock.now(), clock.monotonic());
        let just_reported = reporting(batch);
        let tracked = |report: Arc<Heartbeat>| {
            if just_reported.contains(&report.cluster) {
                return TrackedReport { report, learned_at, age: Duration::ZERO };
            }
            let known = earlier.and_then(|earlier| earlier.0.iter().find(|known| known.report == report));
            match known {
                Some(known) => TrackedReport { report, ..*known },
                None => TrackedReport { age: now.age_of(report.received_at), report, learned_at },
            }
        };
        Self(reports.into_iter().map(tracked).collect())
    }

    /// Returns each last report, and how long ago it arrived.
    pub fn last_heard(&self, monotonic: Duration) -> impl Iterator<Item = LastHeard> {
        self.0.iter().map(move |tracked| LastHeard {
            report: Arc::clone(&tracked.report),
            silent_for: tracked.silent_for(monotonic),
            watched_for: tracked.watched_for(monotonic),
        })
    }

    /// Returns the clusters that have been silent for `length`, at least `watched` of it while this process was
    /// running, with the arrival time of their last report.
    #[must_use]
    pub fn silent(
        &self,
        length: Duration,
        watched: Duration,
        monotonic: Duration,
    ) -> Vec<(ClusterId, Timestamp)> {
        let silent = |heard: &LastHeard| heard.silent_for >= length && heard.watched_for >= watched;
        let id_and_time = |heard: LastHeard| (heard.report.cluster.clone(), heard.report.received_at);
        self.last_heard(monotonic).filter(silent).map(id_and_time).collect()
    }
}

/// Returns the clusters that the batch names.
fn reporting(batch: &ChangeBatch) -> BTreeSet<&ClusterId> {
    let ChangeBatch::Changes(changes) = batch else { return BTreeSet::new() };
    let named = changes.iter().filter_map(|change| match &change.subject {
        Subject::Cluster(cluster) => Some(cluster),
        _ => None,
    });
    named.collect()
}

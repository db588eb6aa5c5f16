//! Reporting the status of the bot.
//!
//! Silence is measured in monotonic time, from when this process learned of a report. So neither setting the clock
//! nor the clock of another node hides a cluster or keeps it visible. Only a report from before this process started
//! is judged by its date.

use super::{Periods, all::Core};
use crate::{
    change::Subject,
    model::{ClusterId, Heartbeat, Notice, Timestamp},
    port::{ChangeBatch, Clock, GuildTotals, Ports, StoreError},
    rules::{BotHealth, BotStatus, LastHeard, bot_status},
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

/// Reports the status of the bot. The latency of a request is not part of it; the request's handler measures that.
pub struct ReportStatus(pub(super) Arc<Core>);

impl ReportStatus {
    /// Returns the last report of every cluster after this batch of changes. The caller passes the result as
    /// `earlier` next time.
    pub async fn clusters(
        &self,
        earlier: Option<&Clusters>,
        batch: &ChangeBatch,
    ) -> Result<Clusters, StoreError> {
        let Ports { stores, clock, .. } = &self.0.ports;
        Ok(Clusters::after(earlier, stores.telemetry.clusters().await?, batch, &**clock))
    }

    /// Returns the bot's history after a change of it. The caller passes the result as `earlier` next time.
    pub async fn periods(&self, earlier: Option<&Periods>) -> Result<Periods, StoreError> {
        let Ports { stores, clock, .. } = &self.0.ports;
        Ok(Periods::after(earlier, stores.status_history.periods().await?, &**clock))
    }

    /// Returns all notices, the latest first.
    pub async fn notices(&self) -> Result<Vec<Notice>, StoreError> {
        let mut notices = self.0.ports.stores.status_history.notices().await?;
        notices.sort_by(|one, other| (other.from, &other.id).cmp(&(one.from, &one.id)));
        Ok(notices)
    }

    /// Returns how many guilds have the bot, and how many members they have. `None` if that is not known.
    pub async fn totals(&self) -> Result<Option<GuildTotals>, StoreError> {
        self.0.ports.stores.guilds.totals().await
    }

    /// Returns the health of the bot.
    #[must_use]
    pub fn health(&self, clusters: &Clusters) -> BotHealth {
        BotHealth::of(clusters.last_heard(self.0.ports.clock.monotonic()), self.0.settings.silent_after)
    }

    /// Returns the status.
    #[must_use]
    pub fn report(&self, clusters: &Clusters, moment: Moment) -> BotStatus {
        bot_status(clusters.last_heard(moment.monotonic), moment.now, self.0.settings.silent_after)
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
        self.0.iter().map(move |tracked| {
            let watched_for = monotonic.saturating_sub(tracked.learned_at);
            let silent_for = tracked.age.saturating_add(watched_for);
            LastHeard { report: Arc::clone(&tracked.report), silent_for, watched_for }
        })
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

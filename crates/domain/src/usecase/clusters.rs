//! The bot's clusters, and how long each has been silent.
//!
//! Silence is measured in monotonic time, from when this process learned of a report. So neither setting the clock
//! nor the clock of another node hides a cluster or keeps it visible. Only a report from before this process started
//! is judged by its date.

use crate::{
    change::Subject,
    model::{ClusterId, Heartbeat, Timestamp},
    port::{ChangeBatch, Clock},
    rules::LastHeard,
};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

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

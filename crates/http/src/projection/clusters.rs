//! The bot's clusters, and how long this process has heard nothing of each.
//!
//! Silence is counted monotonically, from when this process learned of a report: a clock that is set, or that of another
//! node, neither hides a cluster nor keeps it on show. Only what was reported before this process looked has no more
//! than a date to go by.

use companion_domain::{
    change::Subject,
    model::{ClusterId, Heartbeat, Timestamp},
    port::{Clock, News},
    rules::LastHeard,
};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

/// What every cluster said last, as of the last news.
pub(super) struct Clusters(Vec<Heard>);

struct Heard {
    report: Arc<Heartbeat>,
    /// When this process learned of it, in monotonic time.
    learned: Duration,
    /// How old it was then.
    age: Duration,
}

impl Heard {
    fn silent_for(&self, monotonic: Duration) -> Duration {
        self.age.saturating_add(self.watched_for(monotonic))
    }

    /// How much of the silence this process has seen itself.
    fn watched_for(&self, monotonic: Duration) -> Duration {
        monotonic.saturating_sub(self.learned)
    }
}

impl Clusters {
    /// The clusters as these reports have them, which the news led to.
    pub(super) fn after(
        earlier: Option<&Self>,
        reports: Vec<Arc<Heartbeat>>,
        news: &News,
        clock: &dyn Clock,
    ) -> Self {
        let (now, learned) = (clock.now(), clock.monotonic());
        let just_reported = reporting(news);
        let heard = |report: Arc<Heartbeat>| {
            if just_reported.contains(&report.cluster) {
                return Heard { report, learned, age: Duration::ZERO };
            }
            let known = earlier.and_then(|earlier| earlier.0.iter().find(|known| known.report == report));
            match known {
                Some(known) => Heard { report, ..*known },
                None => Heard { age: now.age_of(report.received_at), report, learned },
            }
        };
        Self(reports.into_iter().map(heard).collect())
    }

    /// What each said, and how long ago that is.
    pub(super) fn last_heard(&self, monotonic: Duration) -> impl Iterator<Item = LastHeard> {
        self.0.iter().map(move |heard| LastHeard {
            report: Arc::clone(&heard.report),
            silent_for: heard.silent_for(monotonic),
        })
    }

    /// Those that have been silent for so long, at least `watched` of it under the eyes of this process, and when their
    /// last report came in.
    pub(super) fn silent(
        &self,
        length: Duration,
        watched: Duration,
        monotonic: Duration,
    ) -> Vec<(ClusterId, Timestamp)> {
        let silent =
            |heard: &&Heard| heard.silent_for(monotonic) >= length && heard.watched_for(monotonic) >= watched;
        let told = |heard: &Heard| (heard.report.cluster.clone(), heard.report.received_at);
        self.0.iter().filter(silent).map(told).collect()
    }
}

/// The clusters that the news names.
fn reporting(news: &News) -> BTreeSet<&ClusterId> {
    let News::Changes(changes) = news else { return BTreeSet::new() };
    let named = changes.iter().filter_map(|change| match &change.subject {
        Subject::Cluster(cluster) => Some(cluster),
        _ => None,
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_domain::change::{Change, Revision};
    use companion_testkit::{clock::FixedClock, world::a_heartbeat};

    const SECOND: Duration = Duration::from_secs(1);
    const HOUR: Duration = Duration::from_secs(60 * 60);

    fn news_of(clusters: &[&str]) -> News {
        let change = |cluster: &&str| Change {
            revision: Revision(1),
            subject: Subject::Cluster(cluster.parse().unwrap()),
        };
        News::Changes(clusters.iter().map(change).collect())
    }

    fn silence(clusters: &Clusters, clock: &FixedClock) -> Vec<Duration> {
        clusters.last_heard(clock.monotonic()).map(|heard| heard.silent_for).collect()
    }

    #[test]
    fn what_was_reported_before_anyone_looked_goes_by_its_date() {
        let clock = FixedClock::default();
        let report = |name, received_at| Arc::new(a_heartbeat(name, received_at));
        let reports = vec![
            report("past", clock.now().before(40 * SECOND)),
            report("skewed", clock.now().after(240 * SECOND)),
            report("ahead", clock.now().after(HOUR)),
        ];
        let clusters = Clusters::after(None, reports.clone(), &News::Everything, &clock);
        assert_eq!(silence(&clusters, &clock), [40 * SECOND, Duration::ZERO, Timestamp::LONG_AGO]);
        clock.set(clock.now().before(HOUR));
        clock.advance(SECOND);
        assert_eq!(silence(&clusters, &clock), [41 * SECOND, SECOND, Timestamp::LONG_AGO + SECOND]);
        // After a gap the same reports are no newer than they were, whatever the clock says now.
        let again = Clusters::after(Some(&clusters), reports, &News::Everything, &clock);
        assert_eq!(silence(&again, &clock), [41 * SECOND, SECOND, Timestamp::LONG_AGO + SECOND]);
    }

    #[test]
    fn who_is_named_has_just_reported_whatever_the_date_of_the_report() {
        let clock = FixedClock::default();
        let one = Arc::new(a_heartbeat("one", clock.now()));
        let other = Arc::new(a_heartbeat("other", clock.now().after(HOUR)));
        let clusters = Clusters::after(None, vec![one.clone()], &news_of(&["one"]), &clock);
        clock.advance(30 * SECOND);
        let clusters = Clusters::after(Some(&clusters), vec![one, other], &news_of(&["other"]), &clock);
        assert_eq!(silence(&clusters, &clock), [30 * SECOND, Duration::ZERO]);
    }

    #[test]
    fn nobody_is_taken_for_silent_who_was_not_watched() {
        let clock = FixedClock::default();
        let names = |clusters: &Clusters| {
            let silent = clusters.silent(24 * HOUR, 90 * SECOND, clock.monotonic());
            silent.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>()
        };
        let report = |name, received_at| Arc::new(a_heartbeat(name, received_at));
        let (ahead, old) = (clock.now().after(HOUR), clock.now().before(23 * HOUR));
        let reports = vec![report("ahead", ahead), report("old", old), report("new", clock.now())];
        let clusters = Clusters::after(None, reports, &News::Everything, &clock);
        assert_eq!(names(&clusters), [""; 0]);
        clock.advance(90 * SECOND);
        assert_eq!(names(&clusters), ["ahead"]);
        clock.advance(HOUR - 90 * SECOND);
        assert_eq!(names(&clusters), ["ahead", "old"]);
        clock.set(clock.now().after(365 * 24 * HOUR));
        assert_eq!(names(&clusters), ["ahead", "old"]);
        clock.advance(23 * HOUR);
        assert_eq!(names(&clusters), ["ahead", "old", "new"]);
    }
}

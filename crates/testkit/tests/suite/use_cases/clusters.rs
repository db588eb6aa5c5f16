//! How long nothing was heard of a cluster.

use companion_domain::{
    change::{Change, Revision, Subject},
    model::{Span, Timestamp},
    port::{Clock as _, Mutation, News, Records},
    usecase::{ClusterCount, Clusters, ReportStatus},
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::{clock::FixedClock, world::a_heartbeat};
use std::{sync::Arc, time::Duration};

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

#[tokio::test]
async fn clusters_are_counted_by_whether_they_are_silent() {
    let (clock, storage) = (Arc::new(FixedClock::default()), Arc::new(MemoryStorage::new()));
    let status = ReportStatus {
        telemetry: storage.clone(),
        clock: clock.clone(),
        silent_after: Span::from_seconds(90),
    };
    let clusters = status.clusters(None, &News::Everything).await.unwrap();
    assert_eq!(status.count(&clusters), ClusterCount::default());
    for (name, age) in [("one", 10), ("other", 80)] {
        let received = clock.now().before(age * SECOND);
        storage.write(Mutation::Report(a_heartbeat(name, received))).await.unwrap();
    }
    let clusters = status.clusters(None, &News::Everything).await.unwrap();
    let count = |live, silent, last| ClusterCount { live, silent, last_heard: Some(last * SECOND) };
    assert_eq!(status.count(&clusters), count(2, 0, 10));
    clock.advance(10 * SECOND);
    assert_eq!(status.count(&clusters), count(1, 1, 20));
}

//! The contract of a [`StatusHistory`](companion_domain::port::StatusHistory), and of changes of it.

use super::{
    Fresh, Stores,
    change_feed::{lists_once, subjects_of},
    sample::{at, cluster_id, heartbeat, notice, period},
    stream::Stream,
};
use companion_domain::{
    change::{Key, Kind, Subject, Tally},
    model::{Notice, Period, PeriodChange, PeriodSubject, Silence, Timestamp},
    port::{ApplyError, Mutation, Record, Replace},
};
use std::time::Duration;

suite! {
    /// Generates one test per behaviour of a `StatusHistory`. It needs `Records` to write with.
    status_history_conformance($): status_history, Stores;
    a_period_begins_and_ends_once,
    a_period_begins_only_if_its_clusters_have_not_reported_since,
    one_of_many_beginnings_wins,
    watching_extends_a_period_without_a_change,
    an_alert_is_moved_by_one_caller,
    keeps_the_latest_periods,
    at_most_fifty_notices_are_open,
    a_signed_off_cluster_is_gone,
    an_unreadable_period_does_not_stay_open,
}

async fn change(stores: &Stores, change: PeriodChange) -> Tally {
    stores.records.write(Mutation::Period(change)).await.unwrap()
}

fn begin(subject: PeriodSubject, began_at: Timestamp) -> PeriodChange {
    PeriodChange::Begin(period(subject, began_at), Silence::default())
}

fn end(subject: PeriodSubject, at: Timestamp) -> PeriodChange {
    PeriodChange::End { subject, at, alert_due: None }
}

async fn periods(stores: &Stores) -> Vec<Period> {
    let mut periods = stores.status_history.periods().await.unwrap();
    periods.sort_by(|one, two| (&one.subject, one.began_at).cmp(&(&two.subject, two.began_at)));
    periods
}

async fn a_period_begins_and_ends_once(fresh: &Fresh<Stores>) {
    let subject = PeriodSubject::Cluster(cluster_id("one"));
    for (step, expected, why) in [
        (end(subject.clone(), at(1)), Tally::NOTHING, "there is none"),
        (begin(subject.clone(), at(10)), Tally::ADDED, "the first"),
        (begin(subject.clone(), at(11)), Tally::NOTHING, "one is open"),
        (begin(PeriodSubject::Silent, at(12)), Tally::ADDED, "of another subject"),
        (end(subject.clone(), at(5)), Tally::CHANGED, "it is open"),
        (end(subject.clone(), at(20)), Tally::NOTHING, "it has ended"),
    ] {
        let write = async |stores: &Stores| assert_eq!(change(stores, step).await, expected, "{why}");
        let listed = (expected != Tally::NOTHING).then_some(Subject::Many(Kind::Period));
        assert_eq!(subjects_of(fresh, write).await, Vec::from_iter(listed), "{why}");
    }
    // The clock was set back meanwhile: no period ends before it began.
    let ended = Period { ended_at: Some(at(10)), ..period(subject, at(10)) };
    let open = period(PeriodSubject::Silent, at(12));
    assert_eq!(fresh.shows(async |stores| periods(stores).await).await, [open, ended]);
}

async fn a_period_begins_only_if_its_clusters_have_not_reported_since(fresh: &Fresh<Stores>) {
    for report in [heartbeat("one", at(1)), heartbeat("two", at(2))] {
        fresh.one.records.write(Mutation::Report(report)).await.unwrap();
    }
    for (heard, is_of_all, expected, why) in [
        (at(0), false, Tally::NOTHING, "it has reported since"),
        (at(1), true, Tally::NOTHING, "there is another cluster"),
        (at(1), false, Tally::ADDED, "it is silent"),
    ] {
        let silence = Silence { clusters: [(cluster_id("one"), heard)].into(), is_of_all };
        let begin = PeriodChange::Begin(period(PeriodSubject::Silent, at(100)), silence);
        assert_eq!(change(&fresh.one, begin).await, expected, "{why}");
    }
}

async fn one_of_many_beginnings_wins(fresh: &Fresh<Stores>) {
    let tallies = fresh
        .concurrently(|number, stores| async move {
            change(&stores, begin(PeriodSubject::Incident, at(number.cast_signed()))).await
        })
        .await;
    assert_eq!(tallies.iter().filter(|tally| **tally == Tally::ADDED).count(), 1, "{tallies:?}");
    assert_eq!(periods(&fresh.one).await.len(), 1);
}

async fn watching_extends_a_period_without_a_change(fresh: &Fresh<Stores>) {
    let (stores, gap) = (&fresh.one, Period::WATCH_GAP);
    let watch = async |at| change(stores, PeriodChange::Watch(at)).await;
    assert_eq!(watch(at(1000)).await, Tally::ADDED);
    let before = stores.changes.latest().await.unwrap();
    assert_eq!(watch(at(1000).after(gap)).await, Tally::CHANGED);
    assert_eq!(watch(at(1010)).await, Tally::NOTHING, "another node was there first");
    let after = stores.changes.latest().await.unwrap();
    assert_eq!(after, before, "a change every minute would wake every node");
    let later = at(1000).after(gap * 2 + Duration::from_secs(1));
    assert_eq!(watch(later).await, Tally::ADDED, "after a gap");
    assert_eq!(watch(at(10)).await, Tally::ADDED, "the clock was set back");
    let of = |began_at, ended_at| {
        let watched = period(PeriodSubject::Watched, began_at);
        Period { ended_at: Some(ended_at), reason: None, ..watched }
    };
    let expected = [of(at(10), at(10)), of(at(1000), at(1000).after(gap)), of(later, later)];
    assert_eq!(fresh.shows(async |stores| periods(stores).await).await, expected);
}

async fn an_alert_is_moved_by_one_caller(fresh: &Fresh<Stores>) {
    let stores = &fresh.one;
    let incident = Period { alert_due: Some(at(70)), ..period(PeriodSubject::Incident, at(10)) };
    change(stores, PeriodChange::Begin(incident.clone(), Silence::default())).await;
    let moved = |from, to| PeriodChange::MoveAlert { began_at: at(10), from, to };
    let tallies = fresh
        .concurrently(|_, stores| async move { change(&stores, moved(at(70), Some(at(130)))).await })
        .await;
    assert_eq!(tallies.iter().filter(|tally| **tally == Tally::CHANGED).count(), 1, "{tallies:?}");
    let end = PeriodChange::End { subject: PeriodSubject::Incident, at: at(80), alert_due: Some(at(140)) };
    assert_eq!(change(stores, end).await, Tally::CHANGED);
    assert_eq!(change(stores, moved(at(130), None)).await, Tally::NOTHING, "the end is a new alert");
    assert_eq!(change(stores, moved(at(140), None)).await, Tally::CHANGED);
    let expected = Period { ended_at: Some(at(80)), alert_due: None, ..incident };
    assert_eq!(periods(stores).await, [expected]);
}

async fn keeps_the_latest_periods(fresh: &Fresh<Stores>) {
    let stores = &fresh.one;
    let ended = |number: usize| {
        let began_at = at(i64::try_from(number).unwrap());
        Record::Period(Period { ended_at: Some(began_at), ..period(PeriodSubject::Silent, began_at) })
    };
    let mut stream = Stream::in_batches((0..Period::KEPT).map(ended), 500);
    stores.records.sync(&Replace::default(), &mut stream).await.unwrap();
    assert_eq!(periods(stores).await.len(), Period::KEPT);
    change(stores, begin(PeriodSubject::Incident, at(1_000_000))).await;
    let kept = periods(stores).await;
    assert_eq!(kept.len(), Period::KEPT);
    assert!(kept.iter().all(|period| period.began_at >= at(1)), "the first has gone");
}

async fn at_most_fifty_notices_are_open(fresh: &Fresh<Stores>) {
    let stores = &fresh.one;
    let open = |number: usize| Record::Notice(Notice { until: None, ..notice(&format!("n{number}")) });
    for number in 0..Notice::MAX_OPEN {
        stores.records.put(open(number)).await.unwrap();
    }
    assert!(matches!(stores.records.put(open(99)).await, Err(ApplyError::TooManyNotices)));
    stores.records.put(Record::Notice(notice("ends"))).await.unwrap();
    assert_eq!(stores.records.put(open(0)).await.unwrap(), Tally::NOTHING, "it is one of them");
    stores.records.remove(Key::Notice("n1".parse().unwrap())).await.unwrap();
    assert_eq!(stores.records.put(open(99)).await.unwrap(), Tally::ADDED);
    let all = fresh.shows(async |stores| stores.status_history.notices().await.unwrap().len()).await;
    assert_eq!(all, Notice::MAX_OPEN + 1);
}

async fn a_signed_off_cluster_is_gone(fresh: &Fresh<Stores>) {
    for report in [heartbeat("one", at(1)), heartbeat("two", at(2))] {
        fresh.one.records.write(Mutation::Report(report)).await.unwrap();
    }
    let one = cluster_id("one");
    let sign_off =
        async |stores: &Stores| stores.records.write(Mutation::SignOff(one.clone())).await.unwrap();
    lists_once(fresh, &[Subject::Cluster(one.clone())], sign_off).await;
    let left = fresh.one.telemetry.clusters().await.unwrap();
    assert_eq!(left.iter().map(|report| report.cluster.as_str()).collect::<Vec<_>>(), ["two"]);
}

/// What else is read leaves it out: see the export of the records suite.
async fn an_unreadable_period_does_not_stay_open(fresh: &Fresh<Stores>) {
    change(&fresh.one, begin(PeriodSubject::Silent, at(1))).await;
    if fresh.damage([Key::Period(PeriodSubject::Silent, at(1))]).await {
        assert_eq!(change(&fresh.one, begin(PeriodSubject::Silent, at(2))).await, Tally::ADDED);
    }
}

//! What [`BotTelemetry`] promises.

use super::{
    Fresh,
    concurrency::CROWD,
    sample::{at, cluster_id, heartbeat, shards},
};
use companion_domain::{
    change::Tally,
    model::{Heartbeat, Megabytes, Number, Shard, ShardId, Shards, Timestamp},
    port::BotTelemetry,
};

suite! {
    /// Makes one test of each behaviour of `BotTelemetry`.
    bot_telemetry_conformance($): bot_telemetry, dyn BotTelemetry;
    nobody_reports_at_first,
    a_report_is_kept_to_the_last_digit,
    a_report_takes_the_place_of_the_earlier_one,
    a_report_counts_what_it_did,
    a_late_report_changes_nothing,
    clusters_are_kept_apart,
    silent_clusters_are_forgotten_to_the_microsecond,
    a_forgotten_cluster_can_come_back,
    of_reports_at_once_the_latest_stays,
}

async fn clusters(store: &dyn BotTelemetry) -> Vec<Heartbeat> {
    let mut clusters: Vec<_> =
        store.clusters().await.unwrap().iter().map(|report| (**report).clone()).collect();
    clusters.sort_by(|one, two| one.cluster.cmp(&two.cluster));
    clusters
}

async fn nobody_reports_at_first(fresh: &Fresh<Port>) {
    assert_eq!(clusters(&*fresh.one).await, []);
    assert_eq!(fresh.one.forget_before(at(0)).await.unwrap(), Tally::NOTHING);
}

async fn a_report_is_kept_to_the_last_digit(fresh: &Fresh<Port>) {
    let numbers = [
        Number::Integer(0),
        Number::Integer(i64::MAX),
        Number::Integer(i64::MIN),
        Number::Integer(9_007_199_254_740_993),
        Number::fraction(0.1).unwrap(),
        Number::fraction(5.0).unwrap(),
        Number::fraction(-1.5e-300).unwrap(),
        Number::fraction(f64::MAX).unwrap(),
        Number::fraction(1_700_000_000.123_456_7).unwrap(),
    ];
    let shard = |(id, number)| {
        (ShardId::new(id), Shard { heartbeat_sent: number, heartbeat_acknowledged: number, latency: number })
    };
    let report = Heartbeat {
        memory: Megabytes::new(0.1 + 0.2).unwrap(),
        started_at: Timestamp::from_micros(1),
        shards: Shards::new((0..).zip(numbers).map(shard).chain([shard((u32::MAX, numbers[0]))]).collect())
            .unwrap(),
        ..heartbeat("one", at(123_457))
    };
    let without_shards = Heartbeat { shards: Shards::default(), ..heartbeat("three", at(0)) };
    let large = Heartbeat { shards: shards(0..4096), ..heartbeat("two", at(1)) };
    for report in [&report, &without_shards, &large] {
        fresh.one.record(report).await.unwrap();
    }
    assert_eq!(clusters(&*fresh.other).await, [report, without_shards, large]);
}

async fn a_report_takes_the_place_of_the_earlier_one(fresh: &Fresh<Port>) {
    fresh.one.record(&heartbeat("one", at(0))).await.unwrap();
    assert_eq!(clusters(&*fresh.other).await, [heartbeat("one", at(0))]);
    let next = Heartbeat { shards: shards([1, 2]), ..heartbeat("one", at(1)) };
    fresh.one.record(&next).await.unwrap();
    for store in [&fresh.one, &fresh.other] {
        assert_eq!(
            clusters(&**store).await,
            std::slice::from_ref(&next),
            "a shard that is no longer reported is gone"
        );
    }
}

async fn a_report_counts_what_it_did(fresh: &Fresh<Port>) {
    let first = heartbeat("one", at(0));
    assert_eq!(fresh.one.record(&first).await.unwrap(), Tally::ADDED);
    assert_eq!(fresh.one.record(&first).await.unwrap(), Tally::NOTHING, "the same report again");
    assert_eq!(fresh.one.record(&heartbeat("one", at(1))).await.unwrap(), Tally::CHANGED);
    let same_moment = Heartbeat { memory: Megabytes::ZERO, ..heartbeat("one", at(1)) };
    assert_eq!(fresh.one.record(&same_moment).await.unwrap(), Tally::CHANGED, "the same moment is not late");
    assert_eq!(clusters(&*fresh.one).await, [same_moment]);
}

async fn a_late_report_changes_nothing(fresh: &Fresh<Port>) {
    let kept = heartbeat("one", at(1000));
    fresh.one.record(&kept).await.unwrap();
    for time in [999, 0, -1_000_000_000] {
        let late = Heartbeat { shards: shards([7]), ..heartbeat("one", at(time)) };
        assert_eq!(fresh.one.record(&late).await.unwrap(), Tally::NOTHING);
        assert_eq!(clusters(&*fresh.one).await, std::slice::from_ref(&kept));
    }
}

async fn clusters_are_kept_apart(fresh: &Fresh<Port>) {
    let names = ["A", "B", "a", "a-", "a_", "b"];
    let reports = names.map(|name| heartbeat(name, at(0)));
    for report in &reports {
        assert_eq!(fresh.one.record(report).await.unwrap(), Tally::ADDED, "{}", report.cluster);
    }
    assert_eq!(clusters(&*fresh.one).await, reports);
    // A late report is late for its own cluster only.
    assert_eq!(fresh.one.record(&heartbeat("c", at(-5))).await.unwrap(), Tally::ADDED);
}

async fn silent_clusters_are_forgotten_to_the_microsecond(fresh: &Fresh<Port>) {
    for (name, time) in [("one", 99), ("two", 100), ("three", 101), ("zero", -5)] {
        fresh.one.record(&heartbeat(name, at(time))).await.unwrap();
    }
    let removed = Tally { removed: 2, ..Tally::NOTHING };
    assert_eq!(fresh.one.forget_before(at(100)).await.unwrap(), removed);
    assert_eq!(fresh.one.forget_before(at(100)).await.unwrap(), Tally::NOTHING);
    let left = [heartbeat("three", at(101)), heartbeat("two", at(100))];
    assert_eq!(clusters(&*fresh.other).await, left);
}

async fn a_forgotten_cluster_can_come_back(fresh: &Fresh<Port>) {
    fresh.one.record(&heartbeat("one", at(100))).await.unwrap();
    fresh.one.forget_before(at(101)).await.unwrap();
    assert_eq!(fresh.one.record(&heartbeat("one", at(50))).await.unwrap(), Tally::ADDED);
    assert_eq!(clusters(&*fresh.one).await, [heartbeat("one", at(50))]);
}

async fn of_reports_at_once_the_latest_stays(fresh: &Fresh<Port>) {
    let time = |number: u64| at(i64::try_from(number * 7 % CROWD).unwrap());
    fresh
        .crowd(move |number, store| async move {
            store.record(&heartbeat("one", time(number))).await.unwrap();
            store.record(&heartbeat(&format!("own-{number}"), at(0))).await.unwrap();
        })
        .await;
    let found = clusters(&*fresh.one).await;
    assert_eq!(found.len() as u64, CROWD + 1);
    let shared = found.into_iter().find(|report| report.cluster == cluster_id("one"));
    assert_eq!(shared, Some(heartbeat("one", at(i64::try_from(CROWD).unwrap() - 1))));
}

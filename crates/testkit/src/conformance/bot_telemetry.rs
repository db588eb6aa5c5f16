//! The contract of [`BotTelemetry`](companion_domain::port::BotTelemetry), and of reports to it.

use super::{
    Damage, Fresh, Stores,
    concurrency::CALLERS,
    concurrency::CancelledWrite,
    sample::{LOTS, at, cluster_id, heartbeat, shards},
};
use companion_domain::{
    change::Tally,
    model::{ClusterId, Heartbeat, Megabytes, Number, Shard, ShardCount, ShardId, Shards, Timestamp},
    port::Mutation,
};
use std::sync::Arc;

suite! {
    /// Generates one test per behaviour of `BotTelemetry`. It needs `Records` to write with.
    bot_telemetry_conformance($): bot_telemetry, Stores;
    a_new_store_has_no_reports,
    reports_are_stored_exactly,
    a_report_replaces_the_earlier_one,
    a_report_returns_its_tally,
    the_last_report_to_arrive_wins_whatever_its_date,
    clusters_are_separate,
    removes_a_silent_cluster_unless_it_has_reported_since,
    a_removed_cluster_can_report_again,
    concurrent_reports_leave_one_complete_report,
    lists_and_removes_very_many_clusters,
    removes_a_cluster_by_its_full_name,
    a_cancelled_write_is_complete_or_absent,
    a_write_does_not_block_the_polling_thread needs Gating,
    an_unreadable_report_affects_no_other needs Damaging,
}

async fn record(stores: &Stores, report: &Heartbeat) -> Tally {
    stores.records.write(Mutation::Report(report.clone())).await.unwrap()
}

async fn forget_silent(stores: &Stores, silent: &[(ClusterId, Timestamp)]) -> Tally {
    stores.records.write(Mutation::RemoveSilent(silent.to_vec())).await.unwrap()
}

async fn clusters(stores: &Stores) -> Vec<Heartbeat> {
    let mut clusters: Vec<_> =
        stores.telemetry.clusters().await.unwrap().iter().map(|report| (**report).clone()).collect();
    clusters.sort_by(|one, two| one.cluster.cmp(&two.cluster));
    clusters
}

async fn a_new_store_has_no_reports(fresh: &Fresh<Stores>) {
    assert_eq!(clusters(&fresh.one).await, []);
    assert_eq!(forget_silent(&fresh.one, &[(cluster_id("one"), at(0))]).await, Tally::NOTHING);
    assert_eq!(forget_silent(&fresh.one, &[]).await, Tally::NOTHING);
}

async fn reports_are_stored_exactly(fresh: &Fresh<Stores>) {
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
        shard_count: ShardCount::new(ShardCount::MAX.into()).ok(),
        sent_at: Some(numbers[6]),
        ..heartbeat("one", at(123_457))
    };
    let without_shards = Heartbeat { shards: Shards::default(), ..heartbeat("three", at(0)) };
    let large = Heartbeat { shards: shards(0..4096), ..heartbeat("two", at(1)) };
    for report in [&report, &without_shards, &large] {
        record(&fresh.one, report).await;
    }
    fresh.settle().await;
    assert_eq!(clusters(&fresh.other).await, [report, without_shards, large]);
}

async fn a_report_replaces_the_earlier_one(fresh: &Fresh<Stores>) {
    record(&fresh.one, &heartbeat("one", at(0))).await;
    fresh.settle().await;
    assert_eq!(clusters(&fresh.other).await, [heartbeat("one", at(0))]);
    let next = Heartbeat { shards: shards([1, 2]), ..heartbeat("one", at(1)) };
    record(&fresh.one, &next).await;
    fresh
        .through_both(async |store| {
            assert_eq!(
                clusters(store).await,
                std::slice::from_ref(&next),
                "a shard that is no longer reported is gone"
            );
        })
        .await;
}

async fn a_report_returns_its_tally(fresh: &Fresh<Stores>) {
    let first = heartbeat("one", at(0));
    assert_eq!(record(&fresh.one, &first).await, Tally::ADDED);
    assert_eq!(record(&fresh.one, &first).await, Tally::NOTHING, "the same report again");
    assert_eq!(record(&fresh.one, &heartbeat("one", at(1))).await, Tally::CHANGED);
    let same_moment = Heartbeat { memory: Megabytes::ZERO, ..heartbeat("one", at(1)) };
    assert_eq!(record(&fresh.one, &same_moment).await, Tally::CHANGED, "the same moment, other words");
    assert_eq!(clusters(&fresh.one).await, [same_moment]);
}

async fn the_last_report_to_arrive_wins_whatever_its_date(fresh: &Fresh<Stores>) {
    record(&fresh.one, &heartbeat("one", at(1000))).await;
    for (shard, time) in [(7, 999), (8, 0), (9, -1_000_000_000), (10, 5)] {
        let last = Heartbeat { shards: shards([shard]), ..heartbeat("one", at(time)) };
        assert_eq!(record(&fresh.one, &last).await, Tally::CHANGED, "{time}");
        fresh.settle().await;
        assert_eq!(clusters(&fresh.other).await, [last]);
    }
}

async fn clusters_are_separate(fresh: &Fresh<Stores>) {
    let names = ["A", "B", "a", "a-", "a_", "b"];
    let reports = names.map(|name| heartbeat(name, at(0)));
    for report in &reports {
        assert_eq!(record(&fresh.one, report).await, Tally::ADDED, "{}", report.cluster);
    }
    assert_eq!(clusters(&fresh.one).await, reports);
}

async fn removes_a_silent_cluster_unless_it_has_reported_since(fresh: &Fresh<Stores>) {
    for (name, time) in [("one", 99), ("two", 100), ("three", 101), ("four", 100), ("zero", -5)] {
        record(&fresh.one, &heartbeat(name, at(time))).await;
    }
    let silent = [("one", 99), ("two", 99), ("three", 102), ("zero", -5), ("gone", 1)]
        .map(|(name, time)| (cluster_id(name), at(time)));
    let removed = Tally { removed: 2, ..Tally::NOTHING };
    assert_eq!(forget_silent(&fresh.one, &silent).await, removed);
    assert_eq!(forget_silent(&fresh.one, &silent).await, Tally::NOTHING);
    let left = [heartbeat("four", at(100)), heartbeat("three", at(101)), heartbeat("two", at(100))];
    fresh.settle().await;
    assert_eq!(clusters(&fresh.other).await, left);
}

async fn a_removed_cluster_can_report_again(fresh: &Fresh<Stores>) {
    record(&fresh.one, &heartbeat("one", at(100))).await;
    forget_silent(&fresh.one, &[(cluster_id("one"), at(100))]).await;
    assert_eq!(record(&fresh.one, &heartbeat("one", at(50))).await, Tally::ADDED);
    assert_eq!(clusters(&fresh.one).await, [heartbeat("one", at(50))]);
}

async fn concurrent_reports_leave_one_complete_report(fresh: &Fresh<Stores>) {
    let report = |number: u64| Heartbeat {
        shards: shards([u32::try_from(number).unwrap()]),
        ..heartbeat("one", at(i64::try_from(number * 7 % CALLERS).unwrap()))
    };
    fresh
        .concurrently(move |number, store| async move {
            record(&store, &report(number)).await;
            record(&store, &heartbeat(&format!("own-{number}"), at(0))).await;
        })
        .await;
    let found = clusters(&fresh.one).await;
    assert_eq!(found.len() as u64, CALLERS + 1);
    let shared = found.into_iter().find(|report| report.cluster == cluster_id("one")).unwrap();
    assert!((0..CALLERS).any(|number| report(number) == shared), "{shared:?}");
}

async fn lists_and_removes_very_many_clusters(fresh: &Fresh<Stores>) {
    let all: Vec<_> = (0..LOTS).map(|number| heartbeat(&format!("cluster-{number:04}"), at(9))).collect();
    let reports = all.iter().cloned().map(Mutation::Report).collect();
    assert_eq!(fresh.one.records.apply(reports).await.unwrap().tally.added, LOTS);
    fresh.through_both(async |store| assert!(clusters(store).await == all)).await;
    let silent: Vec<_> = all.iter().skip(1).map(|report| (report.cluster.clone(), at(9))).collect();
    let removed = Tally { removed: LOTS - 1, ..Tally::NOTHING };
    assert_eq!(forget_silent(&fresh.one, &silent).await, removed);
    fresh.through_both(async |store| assert!(clusters(store).await.iter().eq(all.first()))).await;
}

async fn removes_a_cluster_by_its_full_name(fresh: &Fresh<Stores>) {
    let reports = ["A_", "a", "a-", "a_", "a_b", "ab"].map(|name| heartbeat(name, at(0)));
    for report in &reports {
        record(&fresh.one, report).await;
    }
    assert_eq!(forget_silent(&fresh.one, &[(cluster_id("a_"), at(0))]).await, Tally::REMOVED);
    let left: Vec<_> = reports.into_iter().filter(|report| report.cluster != cluster_id("a_")).collect();
    fresh.through_both(async |store| assert_eq!(clusters(store).await, left)).await;
}

async fn a_cancelled_write_is_complete_or_absent(fresh: &Fresh<Stores>) {
    let name = |number: u64, part: u64| format!("{number}-{part}");
    let ready = async |store: &Arc<Stores>, number| {
        for part in 0..3 {
            record(store, &heartbeat(&name(number, part), at(1))).await;
        }
    };
    let look = async |store: &Arc<Stores>, number| {
        let mine = clusters(store)
            .await
            .into_iter()
            .filter(|report| (0..3).any(|part| report.cluster.as_str() == name(number, part)));
        mine.map(|report| (report.received_at, report.shards)).collect::<Vec<_>>()
    };
    let further = async |store: &Arc<Stores>| {
        record(store, &heartbeat("further", at(0))).await;
        forget_silent(store, &[(cluster_id("further"), at(0))]).await;
    };
    let write = async |store: &Arc<Stores>, number| {
        let report = Heartbeat { shards: shards([5, 6, 7]), ..heartbeat(&name(number, 0), at(2)) };
        record(store, &report).await;
    };
    CancelledWrite { fresh, what: "a report", ready, write, look, further }.leaves_all_or_nothing().await;
    let write = async |store: &Arc<Stores>, number| {
        let silent = [0, 1, 2].map(|part| (cluster_id(&name(number, part)), at(1)));
        forget_silent(store, &silent).await;
    };
    // The reports of the first part have other times by now, so each is written again.
    CancelledWrite { fresh, what: "forgetting", ready, write, look, further }.leaves_all_or_nothing().await;
}

async fn a_write_does_not_block_the_polling_thread(fresh: &Fresh<Stores>) {
    fresh.waits_elsewhere(async |store| record(store, &heartbeat("one", at(1))).await).await;
}

async fn an_unreadable_report_affects_no_other(fresh: &Fresh<Stores>) {
    let [damaged, sound] = ["one", "two"].map(|name| heartbeat(name, at(1)));
    for report in [&damaged, &sound] {
        record(&fresh.one, report).await;
    }
    if fresh.damage(Damage::Cluster(damaged.cluster.clone())).await {
        let left = std::slice::from_ref(&sound);
        fresh.through_both(async |store| assert_eq!(clusters(store).await, left)).await;
        record(&fresh.one, &damaged).await;
        fresh.through_both(async |store| assert_eq!(clusters(store).await.len(), 2)).await;
    }
}

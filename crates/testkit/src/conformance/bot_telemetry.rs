//! The contract of [`BotTelemetry`](companion_domain::port::BotTelemetry), and of reports to it.

use super::{
    Damage, Fresh, Stores,
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
    reports_are_stored_exactly,
    the_last_report_to_arrive_replaces_the_earlier_one,
    removes_a_silent_cluster_unless_it_has_reported_since,
    lists_and_removes_very_many_clusters,
    an_unreadable_report_affects_no_other,
}

async fn record(stores: &Stores, report: &Heartbeat) -> Tally {
    stores.records.write(Mutation::Report(report.clone())).await.unwrap()
}

async fn forget_silent(stores: &Stores, silent: &[(ClusterId, Timestamp)]) -> Tally {
    stores.records.write(Mutation::RemoveSilent(silent.to_vec())).await.unwrap()
}

async fn clusters(stores: &Stores) -> Vec<Heartbeat> {
    let clusters = stores.telemetry.clusters().await.unwrap();
    let mut clusters: Vec<_> = clusters.into_iter().map(Arc::unwrap_or_clone).collect();
    clusters.sort_by(|one, two| one.cluster.cmp(&two.cluster));
    clusters
}

/// Returns what both handles show.
async fn shown(fresh: &Fresh<Stores>) -> Vec<Heartbeat> {
    fresh.shows(async |stores| clusters(stores).await).await
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
    assert_eq!(shown(fresh).await, [report, without_shards, large]);
}

async fn the_last_report_to_arrive_replaces_the_earlier_one(fresh: &Fresh<Stores>) {
    assert_eq!(shown(fresh).await, []);
    // With other shards each time: one that is no longer reported is gone. The date does not matter.
    let dated = |shard, time| Heartbeat { shards: shards([shard]), ..heartbeat("one", at(time)) };
    let same_moment = Heartbeat { memory: Megabytes::ZERO, ..dated(10, 5) };
    let reports = [
        (dated(0, 1000), Tally::ADDED),
        (dated(1, 1001), Tally::CHANGED),
        (dated(7, 999), Tally::CHANGED),
        (dated(9, -1_000_000_000), Tally::CHANGED),
        (dated(10, 5), Tally::CHANGED),
        (same_moment, Tally::CHANGED),
    ];
    for (report, expected) in reports {
        assert_eq!(record(&fresh.one, &report).await, expected, "{report:?}");
        assert_eq!(record(&fresh.one, &report).await, Tally::NOTHING, "the same report again");
        assert_eq!(shown(fresh).await, [report]);
    }
}

/// Ids are compared by case, and are no patterns.
async fn removes_a_silent_cluster_unless_it_has_reported_since(fresh: &Fresh<Stores>) {
    let mut reports = [("A_", 99), ("B", 100), ("a", 101), ("a-", 100), ("a_", 99), ("a_b", 99), ("ab", -5)]
        .map(|(name, time)| heartbeat(name, at(time)))
        .to_vec();
    for report in &reports {
        assert_eq!(record(&fresh.one, report).await, Tally::ADDED, "{}", report.cluster);
    }
    assert_eq!(clusters(&fresh.one).await, reports);
    let silent = [("a_", 99), ("B", 99), ("a", 102), ("ab", -5), ("gone", 1)]
        .map(|(name, time)| (cluster_id(name), at(time)));
    let removed = Tally { removed: 2, ..Tally::NOTHING };
    for (silent, expected) in [(&silent[..], removed), (&silent, Tally::NOTHING), (&[], Tally::NOTHING)] {
        assert_eq!(forget_silent(&fresh.one, silent).await, expected);
    }
    reports.retain(|report| !["a_", "ab"].contains(&report.cluster.as_str()));
    assert_eq!(shown(fresh).await, reports);
    assert_eq!(record(&fresh.one, &heartbeat("a_", at(50))).await, Tally::ADDED, "it may report again");
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

async fn an_unreadable_report_affects_no_other(fresh: &Fresh<Stores>) {
    let [damaged, sound] = ["one", "two"].map(|name| heartbeat(name, at(1)));
    for report in [&damaged, &sound] {
        record(&fresh.one, report).await;
    }
    if fresh.damage([Damage::Report(damaged.cluster.clone())]).await {
        assert_eq!(shown(fresh).await, [sound]);
        record(&fresh.one, &damaged).await;
        assert_eq!(shown(fresh).await.len(), 2);
    }
}

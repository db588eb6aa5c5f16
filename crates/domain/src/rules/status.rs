//! The state of the bot, put together from what its clusters last said.

use super::uptime;
use crate::model::{Heartbeat, Megabytes, Shard, ShardId, Span, Timestamp};
use std::{collections::BTreeMap, sync::Arc};

/// The state of the bot as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct BotStatus {
    /// Memory of all live clusters, with two decimals.
    pub memory: Megabytes,
    /// The shards of all live clusters.
    pub shards: BTreeMap<ShardId, Shard>,
    /// How long the bot has been up.
    pub uptime: Uptime,
}

/// How long the bot has been up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uptime {
    /// When the first of the live clusters started; the epoch where none is live.
    pub since: Timestamp,
    /// The time from then until now in words.
    pub readable: String,
}

/// Puts the live clusters together. A cluster is silent, and no longer counts, from `silent_after` after its last
/// report came in, whatever its own clock says. Where two report the same shard, the later report wins.
#[must_use]
pub fn bot_status(clusters: &[Arc<Heartbeat>], now: Timestamp, silent_after: Span) -> BotStatus {
    let mut live: Vec<_> =
        clusters.iter().filter(|cluster| now.since(cluster.received_at) < silent_after.get()).collect();
    live.sort_by(|a, b| a.received_at.cmp(&b.received_at).then_with(|| a.cluster.cmp(&b.cluster)));
    let uptime = match live.iter().map(|cluster| cluster.started_at).min() {
        Some(since) => Uptime { since, readable: uptime::in_words(now.since(since)) },
        None => Uptime { since: Timestamp::EPOCH, readable: "not reporting".to_owned() },
    };
    BotStatus {
        memory: live.iter().map(|cluster| cluster.memory).sum::<Megabytes>().rounded(),
        shards: live.iter().flat_map(|cluster| cluster.shards.iter()).collect(),
        uptime,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Number, Shards};
    use proptest::prelude::*;

    const SILENT_AFTER: Span = Span::from_seconds(90);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds).unwrap()
    }

    fn cluster(
        id: &str,
        memory: f64,
        started: i64,
        received: Timestamp,
        shards: &[(u32, i64)],
    ) -> Arc<Heartbeat> {
        let shard = |latency| Shard {
            heartbeat_sent: Number::Integer(1),
            heartbeat_acknowledged: Number::Integer(2),
            latency: Number::Integer(latency),
        };
        Arc::new(Heartbeat {
            cluster: id.parse().unwrap(),
            memory: Megabytes::new(memory).unwrap(),
            started_at: at(started),
            shards: Shards::new(shards.iter().map(|(id, l)| (ShardId::new(*id), shard(*l))).collect())
                .unwrap(),
            received_at: received,
        })
    }

    #[test]
    fn live_clusters_add_up_and_the_earliest_start_counts() {
        let clusters = [
            cluster("a", 100.004, 5_000, at(10_000), &[(0, 10), (1, 11)]),
            cluster("b", 50.1, 4_000, at(10_001), &[(2, 12)]),
        ];
        let status = bot_status(&clusters, at(10_060), SILENT_AFTER);
        assert_eq!(status.memory.get(), 150.1);
        assert_eq!(status.shards.keys().map(|id| id.get()).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(status.uptime, Uptime { since: at(4_000), readable: "1 hour and 41 minutes".to_owned() });
    }

    #[test]
    fn a_cluster_counts_to_the_last_microsecond_before_it_is_silent() {
        let clusters = [cluster("a", 1.0, 0, at(1_000), &[(0, 1)])];
        let last = Timestamp::from_micros(at(1_090).micros() - 1);
        assert_eq!(bot_status(&clusters, last, SILENT_AFTER).shards.len(), 1);
        let silent = bot_status(&clusters, at(1_090), SILENT_AFTER);
        assert_eq!(silent.memory, Megabytes::ZERO);
        assert!(silent.shards.is_empty());
        assert_eq!(silent.uptime, Uptime { since: Timestamp::EPOCH, readable: "not reporting".to_owned() });
    }

    #[test]
    fn the_later_report_of_a_shard_wins_whatever_the_order() {
        let (old, new) =
            (cluster("b", 1.0, 0, at(1_000), &[(7, 1)]), cluster("a", 1.0, 0, at(1_001), &[(7, 2)]));
        for clusters in [[old.clone(), new.clone()], [new, old]] {
            let status = bot_status(&clusters, at(1_002), SILENT_AFTER);
            assert_eq!(status.shards[&ShardId::new(7)].latency, Number::Integer(2));
        }
    }

    #[test]
    fn a_bot_whose_clock_is_ahead_has_been_up_for_no_time() {
        let clusters = [cluster("a", 1.0, 5_000, at(1_000), &[])];
        assert_eq!(bot_status(&clusters, at(1_001), SILENT_AFTER).uptime.readable, "0 seconds");
    }

    proptest! {
        #[test]
        fn memory_is_the_sum_to_two_decimals(amounts in proptest::collection::vec(0.0..1e6_f64, 0..20)) {
            let clusters: Vec<_> =
                amounts.iter().enumerate().map(|(n, mb)| cluster(&n.to_string(), *mb, 0, at(1), &[])).collect();
            let memory = bot_status(&clusters, at(2), SILENT_AFTER).memory.get();
            prop_assert!((memory - amounts.iter().sum::<f64>()).abs() <= 0.005_001);
            prop_assert!((memory * 100.0 - (memory * 100.0).round()).abs() < 1e-3);
        }
    }
}

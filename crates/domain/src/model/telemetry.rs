//! Status reports of the bot.

use super::{ClusterId, Invalid, Megabytes, Number, ShardId, Timestamp};
use std::collections::BTreeMap;

/// The last report of one cluster of the bot.
#[derive(Debug, Clone, PartialEq)]
pub struct Heartbeat {
    /// The reporting cluster.
    pub cluster: ClusterId,
    /// Memory in use.
    pub memory: Megabytes,
    /// When the cluster started, by its own clock.
    pub started_at: Timestamp,
    /// The cluster's shards.
    pub shards: Shards,
    /// When the report arrived, by the clock of the node that received it.
    pub received_at: Timestamp,
}

/// One shard of the bot, as the bot reports it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shard {
    /// When it last sent a heartbeat.
    pub heartbeat_sent: Number,
    /// When the platform last acknowledged one.
    pub heartbeat_acknowledged: Number,
    /// The round trip of that heartbeat.
    pub latency: Number,
}

/// The shards of one cluster.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shards(BTreeMap<ShardId, Shard>);

impl Shards {
    /// Maximum number of shards in a report.
    pub const MAX: usize = 4096;

    /// Validates the number of shards.
    pub fn new(shards: BTreeMap<ShardId, Shard>) -> Result<Self, Invalid> {
        if shards.len() <= Self::MAX {
            Ok(Self(shards))
        } else {
            Err(Invalid::new("shards", "a map of at most 4096 shards"))
        }
    }

    /// Iterates over the shards in ascending order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (ShardId, Shard)> {
        self.0.iter().map(|(id, shard)| (*id, *shard))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_bounded_and_ordered_by_id() {
        let zero = Number::Integer(0);
        let shard = Shard { heartbeat_sent: zero, heartbeat_acknowledged: zero, latency: zero };
        let shards = |count: u32| Shards::new((0..count).rev().map(|id| (ShardId::new(id), shard)).collect());
        assert!(shards(4096).unwrap().iter().map(|(id, _)| id.get()).eq(0..4096));
        assert_eq!(shards(4097).unwrap_err().field, "shards");
    }
}

//! Status reports of the bot.

use super::{ClusterId, Invalid, Megabytes, Number, ShardId, Timestamp};
use std::{collections::BTreeMap, num::NonZeroU32};

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
    /// The number of shards of the whole bot, as this cluster knows it.
    pub shard_count: Option<ShardCount>,
    /// When the report was sent, in seconds since 1970 by the bot's clock.
    pub sent_at: Option<Number>,
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

/// The number of shards that the bot should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShardCount(NonZeroU32);

impl ShardCount {
    /// The most that is accepted: sixteen full reports.
    pub const MAX: u32 = 65_536;

    /// Validates a number of shards.
    pub fn new(count: u64) -> Result<Self, Invalid> {
        let count = u32::try_from(count).ok().filter(|count| *count <= Self::MAX).and_then(NonZeroU32::new);
        count.map(Self).ok_or(Invalid::new("shard_count", "a whole number from 1 to 65536"))
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> NonZeroU32 {
        self.0
    }
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

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
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

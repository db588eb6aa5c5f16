//! The report of a cluster of the bot.

use crate::{
    format::{Format, OrDefault, Written},
    node::{FieldErrors, Node},
    pattern,
    record::{Nested, record},
    values::Seconds,
};
use companion_domain::model::{
    ClusterId, Heartbeat, Megabytes, Number, Shard, ShardCount, ShardId, Shards, Timestamp,
};
use serde::Serializer;
use utoipa::openapi::{
    ObjectBuilder, RefOr, Schema,
    schema::{AdditionalProperties, Type},
};

/// A report without its time of arrival.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    cluster: ClusterId,
    memory: Megabytes,
    started_at: Timestamp,
    shards: Shards,
    shard_count: Option<ShardCount>,
    sent_at: Option<Number>,
}

impl Report {
    /// Adds the time of arrival.
    #[must_use]
    pub fn received(self, received_at: Timestamp) -> Heartbeat {
        let Self { cluster, memory, started_at, shards, shard_count, sent_at } = self;
        Heartbeat { cluster, memory, started_at, shards, shard_count, sent_at, received_at }
    }
}

record! {
    /// The status of a cluster of the bot.
    // The reporter is the resource itself, so a report may call its cluster `cluster` or `id`.
    pub ClusterReport of Report {
        key {
            /// The cluster's id. Chosen by the bot.
            cluster ["cluster", "id"] in "cluster": ClusterId = cluster;
        }
        fields {
            /// Memory in use, in megabytes.
            memory ["memory"]: Megabytes = memory;
            /// When the cluster started, in seconds since 1970; a fraction is dropped.
            started_at ["started_at"]: Seconds = started_at;
            /// The shards by their ids.
            shards ["shards"]: Shards = shards;
            /// The number of shards of the whole bot. Without it no shard counts as missing.
            shard_count ["shard_count"]: OrDefault<Option<ShardCount>> = shard_count;
            /// When the report was sent, in seconds since 1970 by the bot's clock. The age of an acknowledgement is
            /// measured by it, and by the time of arrival without it.
            sent_at ["sent_at"]: OrDefault<Option<Number>> = sent_at;
        }
        example {
            "memory": 512.25, "started_at": 1_699_990_000, "shard_count": 1, "sent_at": 1_700_000_001.5,
            "shards": {"0": {"heartbeatSent": 1_700_000_000.25, "heartbeatAcknowledged": 1_700_000_000.3, "latency": 48}}
        }
    }
    Report { cluster, memory, started_at, shards, shard_count, sent_at }
}

impl ClusterReport {
    /// Size of the largest valid report, in bytes: each shard has an id and three numbers of maximum length.
    pub const MAX_BYTES: usize = Shards::MAX * 256 + 1024;
}

record! {
    /// A shard, in the bot's own units.
    pub(crate) ShardReport of Shard {
        fields {
            /// When it last sent a heartbeat, in seconds since 1970.
            heartbeat_sent ["heartbeatSent"]: Number = heartbeat_sent;
            /// When the platform last acknowledged one, in seconds since 1970.
            heartbeat_acknowledged ["heartbeatAcknowledged"]: Number = heartbeat_acknowledged;
            /// The round trip of that heartbeat, in milliseconds.
            latency ["latency"]: Number = latency;
        }
    }
    Shard { heartbeat_sent, heartbeat_acknowledged, latency }
}

impl Format for Shards {
    type Value = Self;

    fn read(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<Self> {
        let shards = node.map(errors, |id, node, errors| {
            let id: Option<ShardId> = node.accept(id.parse(), errors);
            let shard = Nested::<ShardReport>::read(node, errors);
            Some((id?, shard?))
        })?;
        node.accept(Self::new(shards.into_iter().collect()), errors)
    }

    fn write<S: Serializer>(value: &Self, serializer: S) -> Result<S::Ok, S::Error> {
        let shards: Vec<_> = value.iter().collect();
        let written = |(id, shard)| (ShardId::to_string(id), Written::<Nested<ShardReport>>(shard));
        serializer.collect_map(shards.iter().map(|(id, shard)| written((id, shard))))
    }

    fn schema() -> RefOr<Schema> {
        let id = ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(pattern::from_zero_to(u32::MAX.into())));
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .property_names(Some(Schema::Object(id.build())))
            .max_properties(Some(Self::MAX))
            .additional_properties(Some(AdditionalProperties::RefOr(Nested::<ShardReport>::schema())))
            .into()
    }
}

//! What a cluster of the bot reports about itself.

use crate::{
    format::{Format, Written},
    node::{Mistakes, Node},
    pattern,
    record::{Nested, record},
    values::Seconds,
};
use companion_domain::model::{ClusterId, Heartbeat, Megabytes, Number, Shard, ShardId, Shards, Timestamp};
use serde::Serializer;
use utoipa::openapi::{
    ObjectBuilder, RefOr, Schema,
    schema::{AdditionalProperties, Type},
};

/// A report that nobody has dated yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    cluster: ClusterId,
    memory: Megabytes,
    started_at: Timestamp,
    shards: Shards,
}

impl Report {
    /// The report, received at this time.
    #[must_use]
    pub fn received(self, received_at: Timestamp) -> Heartbeat {
        let Self { cluster, memory, started_at, shards } = self;
        Heartbeat { cluster, memory, started_at, shards, received_at }
    }
}

record! {
    /// How a cluster of the bot is.
    // What reports and where it reports are the same here, so the cluster goes by either name.
    pub ClusterReport of Report {
        key {
            /// The cluster's id, which the bot chooses.
            cluster ["cluster", "id"] in "cluster": ClusterId = cluster;
        }
        fields {
            /// Memory in use, in megabytes.
            memory ["memory"]: Megabytes = memory;
            /// When the cluster started, in seconds since 1970; a fraction is dropped.
            started_at ["started_at"]: Seconds = started_at;
            /// Each shard by its id.
            shards ["shards"]: Shards = shards;
        }
        example {
            "memory": 512.25, "started_at": 1_699_990_000,
            "shards": {"0": {"heartbeatSent": 1_700_000_000.25, "heartbeatAcknowledged": 1_700_000_000.3, "latency": 48}}
        }
    }
    Report { cluster, memory, started_at, shards }
}

impl ClusterReport {
    /// The largest report that is valid, in bytes, as programs write it: each shard has its id and three numbers at their
    /// longest.
    pub const LARGEST: usize = Shards::MAX * 256 + 1024;
}

record! {
    /// A shard, in the bot's own numbers.
    pub(crate) ShardReport of Shard {
        key {}
        fields {
            /// When it last sent a heartbeat, in seconds since 1970.
            heartbeat_sent ["heartbeatSent"]: Number = heartbeat_sent;
            /// When the platform last acknowledged one, in seconds since 1970.
            heartbeat_acknowledged ["heartbeatAcknowledged"]: Number = heartbeat_acknowledged;
            /// How long that took, in milliseconds.
            latency ["latency"]: Number = latency;
        }
        example {"heartbeatSent": 1_700_000_000.25, "heartbeatAcknowledged": 1_700_000_000.3, "latency": 48}
    }
    Shard { heartbeat_sent, heartbeat_acknowledged, latency }
}

impl Format for Shards {
    type Value = Self;

    fn read(node: Node<'_, '_>, mistakes: &mut Mistakes) -> Option<Self> {
        let shards = node.map(mistakes, |id, node, mistakes| {
            let id: Option<ShardId> = node.accept(id.parse(), mistakes);
            let shard = Nested::<ShardReport>::read(node, mistakes);
            Some((id?, shard?))
        })?;
        node.accept(Self::new(shards.into_iter().collect()), mistakes)
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

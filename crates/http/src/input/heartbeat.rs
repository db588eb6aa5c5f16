//! What a cluster of the bot reports about itself.

use super::{
    node::{Fields, Node, Notes},
    record::Key,
};
use companion_domain::model::{
    ClusterId, Heartbeat, Invalid, Megabytes, Number, Shard, ShardId, Shards, Timestamp,
};

/// A shard with its id and three numbers at their longest.
const LARGEST_SHARD: usize = 256;

/// The largest report that is valid, in bytes, as programs write it.
pub(crate) const LARGEST_HEARTBEAT: usize = Shards::MAX * LARGEST_SHARD + 1024;

/// Reads a cluster's report, received at `now`.
pub(crate) fn heartbeat(
    cluster: Key<ClusterId>,
    now: Timestamp,
    fields: &mut Fields<'_, '_>,
    notes: &mut Notes,
) -> Option<Heartbeat> {
    // What reports and where it reports are the same here, so either name will do.
    let named = cluster.clone().read("cluster", fields, notes);
    let cluster = cluster.read("id", fields, notes).and(named);
    let memory = fields.required("memory", notes).and_then(|node| node.number(Megabytes::new, notes));
    let started_at = fields.required("started_at", notes).and_then(|node| node.seconds(notes));
    let shards = fields.required("shards", notes).and_then(|node| shards(node, notes));
    Some(Heartbeat {
        cluster: cluster?,
        memory: memory?,
        started_at: started_at?,
        shards: shards?,
        received_at: now,
    })
}

fn shards(node: Node<'_, '_>, notes: &mut Notes) -> Option<Shards> {
    let shards = node.map(notes, |id, node, notes| {
        let id: Option<ShardId> = node.accept(id.parse(), notes);
        let shard = shard(node, notes);
        Some((id?, shard?))
    })?;
    node.accept(Shards::new(shards.into_iter().collect()), notes)
}

fn shard(node: Node<'_, '_>, notes: &mut Notes) -> Option<Shard> {
    let mut fields = node.fields(notes)?;
    let heartbeat_sent = fields.required("heartbeatSent", notes).and_then(|node| echoed(node, notes));
    let heartbeat_acknowledged =
        fields.required("heartbeatAcknowledged", notes).and_then(|node| echoed(node, notes));
    let latency = fields.required("latency", notes).and_then(|node| echoed(node, notes));
    fields.finish(notes);
    Some(Shard {
        heartbeat_sent: heartbeat_sent?,
        heartbeat_acknowledged: heartbeat_acknowledged?,
        latency: latency?,
    })
}

/// A number that is given back as it came.
fn echoed(node: Node<'_, '_>, notes: &mut Notes) -> Option<Number> {
    match node.value.as_i64() {
        Some(whole) => Some(Number::Integer(whole)),
        None => node.number(|number| Number::fraction(number).map_err(|_| FINITE), notes),
    }
}

const FINITE: Invalid = Invalid::new("number", "a finite number");

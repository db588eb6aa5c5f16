//! The last report of each cluster, stored as JSON because it is only read as a whole.

use super::{
    history::{Write, removed},
    row::{ClusterRow, Columns as _, Row, read},
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
    schema::clusters,
};
use companion_domain::{
    change::{Kind, Subject, Tally},
    model::{ClusterId, Heartbeat, Megabytes, Number, Shard, ShardCount, ShardId, Shards, Timestamp},
};
use diesel::{ExpressionMethods, QueryDsl, QueryResult, RunQueryDsl};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Serialize, Deserialize)]
struct Report {
    memory: f64,
    started_at: i64,
    shards: BTreeMap<u32, [serde_json::Number; 3]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shard_count: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sent_at: Option<serde_json::Number>,
}

/// Returns the number as JSON: integers are written without a fraction, others with a fraction or exponent.
fn to_json(number: Number) -> serde_json::Number {
    match number {
        Number::Integer(whole) => whole.into(),
        // It is finite.
        Number::Fraction(fraction) => {
            serde_json::Number::from_f64(fraction.get()).unwrap_or_else(|| 0.into())
        }
    }
}

fn from_json(number: &serde_json::Number) -> Option<Number> {
    match number.as_i64() {
        Some(whole) => Some(Number::Integer(whole)),
        None => Number::fraction(number.as_f64()?).ok(),
    }
}

impl Row for ClusterRow {
    type Value = Heartbeat;

    fn of(heartbeat: &Heartbeat) -> Self {
        let shard =
            |shard: Shard| [shard.heartbeat_sent, shard.heartbeat_acknowledged, shard.latency].map(to_json);
        let report = Report {
            memory: heartbeat.memory.get(),
            started_at: heartbeat.started_at.micros(),
            shards: heartbeat.shards.iter().map(|(id, values)| (id.get(), shard(values))).collect(),
            shard_count: heartbeat.shard_count.map(|count| count.get().get().into()),
            sent_at: heartbeat.sent_at.map(to_json),
        };
        Self {
            id: heartbeat.cluster.to_string(),
            report: serde_json::json!(report).to_string(),
            received_at: heartbeat.received_at.micros(),
        }
    }

    fn read(&self, _: &Unreadable) -> Result<Heartbeat, RowError> {
        let report: Report = read!(self.report, |report| serde_json::from_str(report).ok());
        Ok(Heartbeat {
            cluster: read!(self.id),
            memory: read!(self.report, |_| Megabytes::new(report.memory).ok()),
            started_at: Timestamp::from_micros(report.started_at),
            shards: read!(self.report, |_| Report::read_shards(report.shards)),
            shard_count: read!(self.report, |_| report.shard_count.map(ShardCount::new).transpose().ok()),
            sent_at: report.sent_at.and_then(|number| from_json(&number)),
            received_at: Timestamp::from_micros(self.received_at),
        })
    }
}

impl Report {
    fn read_shards(shards: BTreeMap<u32, [serde_json::Number; 3]>) -> Option<Shards> {
        let shard = |(id, [sent, acknowledged, latency]): (u32, [serde_json::Number; 3])| {
            let shard = Shard {
                heartbeat_sent: from_json(&sent)?,
                heartbeat_acknowledged: from_json(&acknowledged)?,
                latency: from_json(&latency)?,
            };
            Some((ShardId::new(id), shard))
        };
        let shards: Option<BTreeMap<_, _>> = shards.into_iter().map(shard).collect();
        Shards::new(shards?).ok()
    }
}

pub(crate) fn put(write: &mut Write<'_>, heartbeat: &Heartbeat) -> Result<Tally, WorkError> {
    let tally = ClusterRow::of(heartbeat).put(write.db)?;
    Ok(write.noted(tally, || Subject::Cluster(heartbeat.cluster.clone())))
}

pub(crate) fn remove(write: &mut Write<'_>, cluster: &ClusterId) -> Result<Tally, WorkError> {
    let gone = diesel::delete(clusters::table.find(cluster.as_str())).execute(write.db)?;
    Ok(write.noted(removed(gone), || Subject::Cluster(cluster.clone())))
}

/// Returns unreadable reports. They are never reported as silent, so they would stay forever.
fn unreadable_rows(db: &mut AnyConnection, unreadable: &Unreadable) -> QueryResult<Vec<ClusterRow>> {
    let mut rows = ClusterRow::select(db, "", Vec::new())?;
    rows.retain(|row| row.read(unreadable).is_err());
    Ok(rows)
}

pub(crate) fn has_unreadable(db: &mut AnyConnection, unreadable: &Unreadable) -> Result<bool, WorkError> {
    Ok(!unreadable_rows(db, unreadable)?.is_empty())
}

/// Removes clusters that have not reported again, and those with unreadable reports.
pub(crate) fn forget_silent(
    write: &mut Write<'_>,
    silent: &[(ClusterId, Timestamp)],
) -> Result<Tally, WorkError> {
    let mut tally = Tally::NOTHING;
    for (cluster, received_at) in silent {
        let target = clusters::table.find(cluster.as_str());
        let gone = diesel::delete(target.filter(clusters::received_at.eq(received_at.micros())))
            .execute(write.db)?;
        tally += write.noted(removed(gone), || Subject::Cluster(cluster.clone()));
    }
    for row in unreadable_rows(write.db, write.unreadable)? {
        diesel::delete(clusters::table.find(&row.id)).execute(write.db)?;
        tally += write.noted(Tally::REMOVED, || row.key().subject(Kind::Cluster));
    }
    Ok(tally)
}

pub(crate) fn forget_all(write: &mut Write<'_>) -> Result<Tally, WorkError> {
    let gone = ClusterRow::select(write.db, "", Vec::new())?;
    diesel::delete(clusters::table).execute(write.db)?;
    for row in &gone {
        write.note(row.key().subject(Kind::Cluster));
    }
    Ok(removed(gone.len()))
}

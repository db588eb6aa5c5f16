//! Clusters' reports as rows: what is only ever read whole is kept as JSON.

use super::{
    makes_no_sense,
    unreadable::{Key, Keyed},
};
use crate::{failure::RowError, schema::clusters};
use companion_domain::model::{Heartbeat, Megabytes, Number, Shard, ShardId, Shards, Timestamp};
use diesel::{AsChangeset, Insertable, Queryable, Selectable};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, PartialEq, Eq, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = clusters)]
pub(crate) struct ClusterRow {
    pub(crate) id: String,
    pub(crate) report: String,
    pub(crate) received_at: i64,
}

#[derive(Serialize, Deserialize)]
struct Report {
    memory: f64,
    started_at: i64,
    shards: BTreeMap<u32, [StoredNumber; 3]>,
}

/// A number that comes back as it was: a whole number without, any other with a fraction or an exponent.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredNumber {
    Integer(i64),
    Fraction(f64),
}

impl From<Number> for StoredNumber {
    fn from(number: Number) -> Self {
        match number {
            Number::Integer(whole) => Self::Integer(whole),
            Number::Fraction(fraction) => Self::Fraction(fraction.get()),
        }
    }
}

impl StoredNumber {
    fn into_number(self) -> Option<Number> {
        match self {
            Self::Integer(whole) => Some(Number::Integer(whole)),
            Self::Fraction(fraction) => Number::fraction(fraction).ok(),
        }
    }
}

impl From<&Heartbeat> for ClusterRow {
    fn from(heartbeat: &Heartbeat) -> Self {
        let shard = |shard: Shard| {
            [shard.heartbeat_sent, shard.heartbeat_acknowledged, shard.latency].map(StoredNumber::from)
        };
        let report = Report {
            memory: heartbeat.memory.get(),
            started_at: heartbeat.started_at.micros(),
            shards: heartbeat.shards.iter().map(|(id, values)| (id.get(), shard(values))).collect(),
        };
        Self {
            id: heartbeat.cluster.to_string(),
            report: serde_json::json!(report).to_string(),
            received_at: heartbeat.received_at.micros(),
        }
    }
}

impl Keyed for ClusterRow {
    fn key(&self) -> Key {
        Key::Text(None, self.id.clone())
    }
}

impl TryFrom<ClusterRow> for Heartbeat {
    type Error = RowError;

    fn try_from(row: ClusterRow) -> Result<Self, RowError> {
        let report: Report =
            serde_json::from_str(&row.report).map_err(makes_no_sense("clusters", "report"))?;
        let memory = Megabytes::new(report.memory).map_err(makes_no_sense("clusters", "report"))?;
        let shards: Option<BTreeMap<_, _>> = report
            .shards
            .into_iter()
            .map(|(id, [sent, acknowledged, latency])| {
                let shard = Shard {
                    heartbeat_sent: sent.into_number()?,
                    heartbeat_acknowledged: acknowledged.into_number()?,
                    latency: latency.into_number()?,
                };
                Some((ShardId::new(id), shard))
            })
            .collect();
        Ok(Self {
            cluster: row.id.parse().map_err(makes_no_sense("clusters", "id"))?,
            memory,
            started_at: Timestamp::from_micros(report.started_at),
            shards: shards
                .and_then(|shards| Shards::new(shards).ok())
                .ok_or(())
                .map_err(makes_no_sense("clusters", "report"))?,
            received_at: Timestamp::from_micros(row.received_at),
        })
    }
}

//! What the bot's clusters report about themselves.

use crate::{
    failure::Failure, row::cluster::ClusterRow, schema::clusters, storage::DieselStorage, writer::Write,
};
use async_trait::async_trait;
use companion_domain::{
    change::{Kind, Subject, Tally},
    model::{ClusterId, Heartbeat, Timestamp},
    port::{BotTelemetry, StoreError},
};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, RunQueryDsl, SelectableHelper};
use std::sync::Arc;

fn record(write: &mut Write<'_>, cluster: ClusterId, row: &ClusterRow) -> Result<Tally, Failure> {
    let place = clusters::table.find(&row.id);
    let kept: Option<ClusterRow> = place.select(ClusterRow::as_select()).first(write.db).optional()?;
    let tally = match kept {
        Some(kept) if kept == *row => Tally::NOTHING,
        Some(_) => {
            diesel::update(place).set(row).execute(write.db)?;
            Tally::CHANGED
        }
        None => {
            diesel::insert_into(clusters::table).values(row).execute(write.db)?;
            Tally::ADDED
        }
    };
    Ok(write.noted(tally, || Subject::Cluster(cluster)))
}

/// Forgets all clusters.
pub(crate) fn forget_all(write: &mut Write<'_>) -> Result<Tally, Failure> {
    let ids: Vec<String> = clusters::table.select(clusters::id).load(write.db)?;
    diesel::delete(clusters::table).execute(write.db)?;
    let mut tally = Tally::NOTHING;
    for id in ids {
        tally +=
            write.noted(Tally::REMOVED, || id.parse().map_or(Subject::Many(Kind::Cluster), Subject::Cluster));
    }
    Ok(tally)
}

/// Forgets clusters that have not reported again.
fn forget(write: &mut Write<'_>, silent: Vec<(ClusterId, Timestamp)>) -> Result<Tally, Failure> {
    let mut tally = Tally::NOTHING;
    for (cluster, heard) in silent {
        let place = clusters::table.find(cluster.to_string());
        let gone =
            diesel::delete(place.filter(clusters::received_at.eq(heard.micros()))).execute(write.db)?;
        tally += write.noted(super::removed(gone), || Subject::Cluster(cluster));
    }
    Ok(tally)
}

#[async_trait]
impl BotTelemetry for DieselStorage {
    async fn record(&self, heartbeat: &Heartbeat) -> Result<Tally, StoreError> {
        let (cluster, row) = (heartbeat.cluster.clone(), ClusterRow::from(heartbeat));
        self.write_urgently(move |write| record(write, cluster, &row)).await
    }

    async fn clusters(&self) -> Result<Vec<Arc<Heartbeat>>, StoreError> {
        let unreadable = self.unreadable();
        self.read(move |db| {
            let rows: Vec<ClusterRow> = clusters::table.select(ClusterRow::as_select()).load(db)?;
            Ok(unreadable.all(rows).into_iter().map(Arc::new).collect())
        })
        .await
    }

    async fn forget_silent(&self, silent: &[(ClusterId, Timestamp)]) -> Result<Tally, StoreError> {
        if silent.is_empty() {
            return Ok(Tally::NOTHING);
        }
        let silent = silent.to_vec();
        self.write_urgently(move |write| forget(write, silent)).await
    }
}

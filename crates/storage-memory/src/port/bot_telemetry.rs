//! What the bot's clusters report about themselves.

use crate::{keyed::Table, state::MemoryStorage};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{ClusterId, Heartbeat, Timestamp},
    port::{BotTelemetry, StoreError},
};
use std::sync::Arc;

#[async_trait]
impl BotTelemetry for MemoryStorage {
    async fn record(&self, heartbeat: &Heartbeat) -> Result<Tally, StoreError> {
        let row = Arc::new(heartbeat.clone());
        Ok(self.write(|state, journal| state.clusters.put(row.cluster.clone(), row, journal)))
    }

    async fn clusters(&self) -> Result<Vec<Arc<Heartbeat>>, StoreError> {
        Ok(self.read().clusters.iter().map(|(_, heartbeat)| Arc::clone(heartbeat)).collect())
    }

    async fn forget_silent(&self, silent: &[(ClusterId, Timestamp)]) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| {
            let mut tally = Tally::NOTHING;
            for (cluster, heard) in silent {
                if state.clusters.get(cluster).is_some_and(|last| last.received_at == *heard) {
                    tally += state.clusters.remove(cluster, journal);
                }
            }
            tally
        }))
    }
}

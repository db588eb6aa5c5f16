//! What the bot's clusters report about themselves.

use crate::{storage::DieselStorage, table::clusters};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{ClusterId, Heartbeat, Timestamp},
    port::{BotTelemetry, StoreError},
};
use std::sync::Arc;

#[async_trait]
impl BotTelemetry for DieselStorage {
    async fn record(&self, heartbeat: &Heartbeat) -> Result<Tally, StoreError> {
        let heartbeat = heartbeat.clone();
        self.write_urgently(move |write| clusters::put(write, &heartbeat)).await
    }

    async fn clusters(&self) -> Result<Vec<Arc<Heartbeat>>, StoreError> {
        let unreadable = self.unreadable();
        self.read(move |db| Ok(clusters::all(db, &unreadable)?)).await
    }

    async fn forget_silent(&self, silent: &[(ClusterId, Timestamp)]) -> Result<Tally, StoreError> {
        if silent.is_empty() && !self.read(|db| Ok(clusters::has_unreadable(db)?)).await? {
            return Ok(Tally::NOTHING);
        }
        let silent = silent.to_vec();
        self.write_urgently(move |write| clusters::forget_silent(write, &silent)).await
    }
}

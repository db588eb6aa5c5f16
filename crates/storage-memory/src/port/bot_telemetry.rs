//! What the bot's clusters report about themselves.

use crate::{
    journal::Journal,
    state::MemoryStorage,
    table::{noted, set},
};
use async_trait::async_trait;
use companion_domain::{
    change::{Subject, Tally},
    model::{ClusterId, Heartbeat, Timestamp},
    port::{BotTelemetry, StoreError},
};
use std::{collections::HashMap, sync::Arc};

/// The last report of each cluster.
#[derive(Default)]
pub(crate) struct Clusters(HashMap<ClusterId, Arc<Heartbeat>>);

impl Clusters {
    fn record(&mut self, heartbeat: Arc<Heartbeat>, journal: &mut Journal) -> Tally {
        let cluster = heartbeat.cluster.clone();
        noted(set(&mut self.0, cluster.clone(), heartbeat), Subject::Cluster(cluster), journal)
    }

    /// Forgets the clusters whose last report is none of those to keep.
    pub(crate) fn retain(&mut self, keep: impl Fn(&Heartbeat) -> bool, journal: &mut Journal) -> Tally {
        let mut tally = Tally::NOTHING;
        self.0.retain(|cluster, heartbeat| {
            let kept = keep(heartbeat);
            if !kept {
                tally += noted(Tally::REMOVED, Subject::Cluster(cluster.clone()), journal);
            }
            kept
        });
        tally
    }
}

#[async_trait]
impl BotTelemetry for MemoryStorage {
    async fn record(&self, heartbeat: &Heartbeat) -> Result<Tally, StoreError> {
        let heartbeat = Arc::new(heartbeat.clone());
        Ok(self.write(|state, journal| state.clusters.record(heartbeat, journal)))
    }

    async fn clusters(&self) -> Result<Vec<Arc<Heartbeat>>, StoreError> {
        Ok(self.read().clusters.0.values().cloned().collect())
    }

    async fn forget_silent(&self, silent: &[(ClusterId, Timestamp)]) -> Result<Tally, StoreError> {
        let silent: HashMap<_, _> = silent.iter().map(|(cluster, heard)| (cluster, *heard)).collect();
        let kept = |last: &Heartbeat| silent.get(&last.cluster) != Some(&last.received_at);
        Ok(self.write(|state, journal| state.clusters.retain(kept, journal)))
    }
}

//! Feedback.

use crate::{storage::DieselStorage, table::feedback};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{Feedback, FeedbackId},
    port::{Entropy, FeedbackStore, StoreError},
    rules::distinct_positions,
};
use std::{pin::pin, sync::Arc};
use tokio::sync::mpsc;

/// The way from a snapshot to chance, which stays with the caller.
struct Draw {
    asking: mpsc::Sender<(u64, u64)>,
    told: mpsc::Receiver<Vec<u64>>,
}

impl Draw {
    /// So many distinct positions out of a population; none when nobody waits for the answer any more.
    fn positions(&mut self, population: u64, count: u64) -> Vec<u64> {
        let asked = self.asking.blocking_send((population, count));
        asked.ok().and_then(|()| self.told.blocking_recv()).unwrap_or_default()
    }
}

#[async_trait]
impl FeedbackStore for DieselStorage {
    async fn pick_positive(
        &self,
        count: u64,
        entropy: &dyn Entropy,
    ) -> Result<Vec<Arc<Feedback>>, StoreError> {
        // Chance stays on this side and the snapshot on the other.
        let (asking, mut asked) = mpsc::channel(1);
        let (tell, told) = mpsc::channel(1);
        let (mut draw, unreadable) = (Draw { asking, told }, self.unreadable());
        let mut reading = pin!(self.snapshot(move |db| {
            let draw = |population, count| draw.positions(population, count);
            Ok(feedback::pick(db, count, draw, &unreadable)?)
        }));
        loop {
            tokio::select! {
                entries = &mut reading => return entries,
                Some((population, count)) = asked.recv() => {
                    // It has room: whoever asks waits for the answer first.
                    let _ = tell.try_send(distinct_positions(population, count, entropy));
                }
            }
        }
    }

    async fn find(&self, id: &FeedbackId) -> Result<Option<Arc<Feedback>>, StoreError> {
        let (id, unreadable) = (id.clone(), self.unreadable());
        self.read(move |db| Ok(feedback::find(db, &id, &unreadable)?)).await
    }

    async fn put(&self, entry: &Feedback) -> Result<Tally, StoreError> {
        let entry = entry.clone();
        self.write(move |write| feedback::put(write, &entry)).await
    }

    async fn remove(&self, id: &FeedbackId) -> Result<Tally, StoreError> {
        let id = id.clone();
        self.write(move |write| feedback::remove(write, id.as_str())).await
    }
}

//! Feedback.

use crate::{storage::DieselStorage, table::feedback};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{Feedback, FeedbackId},
    port::{FeedbackStore, StoreError},
    rules::Seed,
};
use std::{num::NonZeroU32, sync::Arc};

#[async_trait]
impl FeedbackStore for DieselStorage {
    async fn pick_positive(&self, count: usize, seed: Seed) -> Result<Vec<Arc<Feedback>>, StoreError> {
        let unreadable = self.unreadable();
        self.snapshot(move |db| Ok(feedback::pick(db, count, seed, &unreadable)?)).await
    }

    async fn positive_after(
        &self,
        after: Option<&FeedbackId>,
        most: NonZeroU32,
    ) -> Result<Vec<Arc<Feedback>>, StoreError> {
        let (after, unreadable) = (after.cloned(), self.unreadable());
        self.snapshot(move |db| Ok(feedback::positive_after(db, after.as_ref(), most, &unreadable)?)).await
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

//! Feedback.

use crate::{keyed::Table, state::MemoryStorage};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{Feedback, FeedbackId},
    port::{FeedbackStore, StoreError},
    rules::Seed,
};
use std::sync::Arc;

#[async_trait]
impl FeedbackStore for MemoryStorage {
    async fn pick_positive(&self, count: usize, seed: Seed) -> Result<Vec<Arc<Feedback>>, StoreError> {
        Ok(self.read().feedback.pick_positive(count, seed))
    }

    async fn find(&self, id: &FeedbackId) -> Result<Option<Arc<Feedback>>, StoreError> {
        Ok(self.read().feedback.find(id))
    }

    async fn put(&self, feedback: &Feedback) -> Result<Tally, StoreError> {
        let (id, row) = (feedback.id.clone(), Arc::new(feedback.clone()));
        Ok(self.write(|state, journal| state.feedback.put(id, row, journal)))
    }

    async fn remove(&self, id: &FeedbackId) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.feedback.remove(id, journal)))
    }
}

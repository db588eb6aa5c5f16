//! Feedback.

use crate::{keyed::Table, state::MemoryStorage};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{Feedback, FeedbackId},
    port::{FeedbackStore, StoreError},
    rules::Seed,
};
use std::{num::NonZeroU32, sync::Arc};

#[async_trait]
impl FeedbackStore for MemoryStorage {
    async fn pick_positive(&self, count: usize, seed: Seed) -> Result<Vec<Arc<Feedback>>, StoreError> {
        Ok(self.read().feedback.pick_positive(count, seed))
    }

    async fn positive_after(
        &self,
        after: Option<&FeedbackId>,
        most: NonZeroU32,
    ) -> Result<Vec<Arc<Feedback>>, StoreError> {
        let most = usize::try_from(most.get()).unwrap_or(usize::MAX);
        Ok(self.read().feedback.positive_after(after).take(most).cloned().collect())
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

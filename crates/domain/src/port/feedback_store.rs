//! Feedback.

use super::{Entropy, StoreError};
use crate::{
    change::Tally,
    model::{Feedback, FeedbackId},
};
use async_trait::async_trait;
use std::sync::Arc;

/// Keeps feedback.
#[async_trait]
pub trait FeedbackStore: Send + Sync {
    /// `count` distinct positive entries in random order, or all where there are fewer: of those that can be read. Each choice and each order is
    /// equally likely, and the cost does not grow with the number of entries: an adapter numbers its positive entries
    /// and asks [`distinct_positions`](crate::rules::distinct_positions).
    async fn pick_positive(
        &self,
        count: u64,
        entropy: &dyn Entropy,
    ) -> Result<Vec<Arc<Feedback>>, StoreError>;

    /// One entry.
    async fn find(&self, id: &FeedbackId) -> Result<Option<Arc<Feedback>>, StoreError>;

    /// Adds an entry, or replaces it.
    async fn put(&self, feedback: &Feedback) -> Result<Tally, StoreError>;

    /// Removes an entry.
    async fn remove(&self, id: &FeedbackId) -> Result<Tally, StoreError>;
}

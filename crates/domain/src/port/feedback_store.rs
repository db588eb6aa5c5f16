//! Feedback.

use super::StoreError;
use crate::{
    model::{Feedback, FeedbackId},
    rules::Seed,
};
use async_trait::async_trait;
use std::{num::NonZeroU32, sync::Arc};

/// Reads feedback.
#[async_trait]
pub trait FeedbackStore: Send + Sync {
    /// `count` distinct positive entries in random order, or all where there are fewer: of those that can be read. Each
    /// choice and each order is equally likely over all seeds, and the cost does not grow with the number of entries: an
    /// adapter numbers its positive entries and has [`positions`](crate::rules::Draw::positions) drawn.
    async fn pick_positive(&self, count: usize, seed: Seed) -> Result<Vec<Arc<Feedback>>, StoreError>;

    /// Positive entries that can be read, in ascending order of their ids, from the first after `after` on. There are `most`
    /// of them, and fewer only where no more follow: a short page is the last one. Whoever reads page by page while others
    /// write meets every entry that stays as it is exactly once.
    async fn positive_after(
        &self,
        after: Option<&FeedbackId>,
        most: NonZeroU32,
    ) -> Result<Vec<Arc<Feedback>>, StoreError>;

    /// One entry, whatever its rating.
    async fn find(&self, id: &FeedbackId) -> Result<Option<Arc<Feedback>>, StoreError>;
}

//! Showing what people like about the bot.

use crate::{
    model::Feedback,
    port::{Entropy, FeedbackStore, StoreError},
    rules::{Seed, few},
};
use std::sync::Arc;

/// How many entries are shown at once.
const SHOWN: usize = 5;

/// Picks feedback to show.
pub struct PickFeedback {
    /// Feedback.
    pub feedback: Arc<dyn FeedbackStore>,
    /// Chance.
    pub entropy: Arc<dyn Entropy>,
}

impl PickFeedback {
    /// Five positive entries at random, or all where there are fewer.
    pub async fn pick(&self) -> Result<Vec<Arc<Feedback>>, StoreError> {
        self.feedback.pick_positive(SHOWN, Seed::new(*self.entropy.draw())).await
    }

    /// As many places among this many positive entries, for whoever has all of them at hand.
    #[must_use]
    pub fn places(&self, population: usize) -> [Option<usize>; SHOWN] {
        let mut random = [[0; size_of::<u64>()]; SHOWN];
        self.entropy.fill(random.as_flattened_mut());
        few(population, random.map(u64::from_le_bytes))
    }
}

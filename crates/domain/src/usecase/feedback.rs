//! Showing what people like about the bot.

use crate::{
    model::Feedback,
    port::{Entropy, FeedbackStore, StoreError},
    rules::Seed,
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
}

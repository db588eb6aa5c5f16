//! Public data: the team and a selection of feedback.

use crate::{
    model::{Feedback, Name, TeamMember},
    port::{Entropy, FeedbackStore, StoreError, TeamRoster},
    rules::{Seed, order_team, sample_few},
};
use std::sync::Arc;

/// Shows the team.
pub struct ShowTeam {
    /// The stored team, in any order.
    pub roster: Arc<dyn TeamRoster>,
    /// The categories that come first, in order.
    pub categories: Vec<Name>,
}

impl ShowTeam {
    /// Returns the whole team, in the order in which it is shown.
    pub async fn show(&self) -> Result<Vec<TeamMember>, StoreError> {
        let mut team = self.roster.all().await?.to_vec();
        order_team(&mut team, &self.categories);
        Ok(team)
    }
}

/// Number of entries shown at once.
const FEEDBACK_COUNT: usize = 5;

/// Picks feedback to show.
pub struct PickFeedback {
    /// Feedback.
    pub feedback: Arc<dyn FeedbackStore>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
}

impl PickFeedback {
    /// Returns five positive entries at random, or all if there are fewer.
    pub async fn pick(&self) -> Result<Vec<Arc<Feedback>>, StoreError> {
        self.feedback.pick_positive(FEEDBACK_COUNT, Seed::new(*self.entropy.draw())).await
    }

    /// Returns five random indices into `population` positive entries, for a caller that has all of them in memory.
    #[must_use]
    pub fn places(&self, population: usize) -> [Option<usize>; FEEDBACK_COUNT] {
        let mut random = [[0; size_of::<u64>()]; FEEDBACK_COUNT];
        self.entropy.fill(random.as_flattened_mut());
        sample_few(population, random.map(u64::from_le_bytes))
    }
}

//! What everyone is shown: the team and a few kind words.

use crate::{
    model::{Feedback, Name, TeamMember},
    port::{Entropy, FeedbackStore, StoreError, TeamRoster},
    rules::{Seed, few, order_team},
};
use std::sync::Arc;

/// Shows the team.
pub struct ShowTeam {
    /// Where the team is stored, in any order.
    pub roster: Arc<dyn TeamRoster>,
    /// The categories that come first, in order.
    pub categories: Vec<Name>,
}

impl ShowTeam {
    /// The whole team, in the order in which it is shown.
    pub async fn show(&self) -> Result<Vec<TeamMember>, StoreError> {
        let mut team = self.roster.all().await?.to_vec();
        order_team(&mut team, &self.categories);
        Ok(team)
    }
}

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

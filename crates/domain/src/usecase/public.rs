//! Public data: the team and a selection of feedback.

use super::all::Core;
use crate::{
    model::{Feedback, Name, TeamMember},
    port::{Entropy, FeedbackStore, StoreError},
    rules::{Seed, sample_few},
};
use std::sync::Arc;

/// Shows the team.
pub struct ShowTeam(pub(super) Arc<Core>);

impl ShowTeam {
    /// Returns the whole team, in the order in which it is shown.
    pub async fn show(&self) -> Result<Vec<TeamMember>, StoreError> {
        let mut team = self.0.ports.stores.team.all().await?.to_vec();
        order_team(&mut team, &self.0.settings.categories);
        Ok(team)
    }
}

/// Sorts a team by category (the configured ones first, in that order; then the others by name), then by position,
/// then by name. Ties are broken by id, so that the order is deterministic.
fn order_team(team: &mut [TeamMember], categories: &[Name]) {
    let rank = |member: &TeamMember| {
        categories.iter().position(|category| *category == member.category).unwrap_or(categories.len())
    };
    team.sort_by(|a, b| {
        let one = (rank(a), &a.category, a.position, &a.user.name, a.user.id);
        one.cmp(&(rank(b), &b.category, b.position, &b.user.name, b.user.id))
    });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{User, UserId};

    fn member(id: u64, name: &str, category: &str, position: i32) -> TeamMember {
        TeamMember {
            user: User {
                id: UserId::new(id).unwrap(),
                username: name.parse().unwrap(),
                name: name.parse().unwrap(),
                avatar: "https://cdn.example/a.png".parse().unwrap(),
            },
            role: "Helper".parse().unwrap(),
            color: "#112233".parse().unwrap(),
            category: category.parse().unwrap(),
            position,
        }
    }

    #[test]
    fn sorts_by_category_position_and_name() {
        let mut team = vec![
            member(1, "Ada", "Writers", 0),
            member(2, "Bea", "Artists", 0),
            member(3, "Cyd", "Support", 1),
            member(4, "Abe", "Support", 1),
            member(5, "Zoe", "Support", -1),
            member(6, "Max", "Board", 9),
            member(8, "Max", "Board", 9),
            member(7, "Max", "Board", 9),
        ];
        order_team(&mut team, &["Board".parse().unwrap(), "Support".parse().unwrap()]);
        let ids: Vec<_> = team.iter().map(|member| member.user.id.get()).collect();
        assert_eq!(ids, [6, 7, 8, 5, 4, 3, 2, 1]);
    }
}

//! How many places a team has, counted while they come in one by one.

use companion_domain::model::{Name, Roster, TeamMember, UserId};
use std::collections::HashSet;

/// The places of a team so far. Never many more than a team can have.
#[derive(Debug, Default)]
pub(super) struct Places(HashSet<(UserId, Name)>);

impl Places {
    /// The places that a team has already.
    pub(super) fn of(team: &[TeamMember]) -> Self {
        Self(team.iter().map(key).collect())
    }

    /// Gives a member their place. False where there is none left.
    pub(super) fn take(&mut self, member: &TeamMember) -> bool {
        let key = key(member);
        self.0.contains(&key) || (self.0.len() < Roster::MAX && self.0.insert(key))
    }
}

fn key(member: &TeamMember) -> (UserId, Name) {
    let (user, category) = member.key();
    (user, category.clone())
}

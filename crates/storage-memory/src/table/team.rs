//! The team.

use crate::{
    journal::Journal,
    state::MemoryStorage,
    table::{noted, set},
};
use async_trait::async_trait;
use companion_domain::{
    change::{Subject, Tally},
    model::{Name, Roster, TeamMember, UserId},
    port::{StoreError, TeamRoster},
};
use std::{collections::HashMap, sync::Arc};

/// What makes a place in the team the same place; see [`TeamMember::key`].
pub(crate) type TeamKey = (UserId, Name);

pub(crate) fn key_of(member: &TeamMember) -> TeamKey {
    let (user, category) = member.key();
    (user, category.clone())
}

/// The whole team, ready to be shared.
#[derive(Default)]
pub(crate) struct Team(Arc<[TeamMember]>);

impl Team {
    pub(crate) fn all(&self) -> Arc<[TeamMember]> {
        Arc::clone(&self.0)
    }

    /// Puts these places; with `replace`, all others go.
    pub(crate) fn merge(
        &mut self,
        members: impl IntoIterator<Item = TeamMember>,
        replace: bool,
        journal: &mut Journal,
    ) -> Tally {
        let before: HashMap<_, _> = self.0.iter().map(|member| (key_of(member), member.clone())).collect();
        let mut after = if replace { HashMap::new() } else { before.clone() };
        for member in members {
            set(&mut after, key_of(&member), member);
        }
        let tally = difference(&before, &after);
        if tally != Tally::NOTHING {
            let mut team: Vec<_> = after.into_iter().collect();
            team.sort_by(|(one, _), (other, _)| one.cmp(other));
            self.0 = team.into_iter().map(|(_, member)| member).collect();
        }
        noted(tally, Subject::Team, journal)
    }
}

fn difference(before: &HashMap<TeamKey, TeamMember>, after: &HashMap<TeamKey, TeamMember>) -> Tally {
    let mut tally = Tally::NOTHING;
    for (key, member) in after {
        match before.get(key) {
            Some(earlier) if earlier == member => {}
            Some(_) => tally += Tally::CHANGED,
            None => tally += Tally::ADDED,
        }
    }
    let removed = before.keys().filter(|key| !after.contains_key(key)).count();
    tally.removed = removed as u64;
    tally
}

#[async_trait]
impl TeamRoster for MemoryStorage {
    async fn all(&self) -> Result<Arc<[TeamMember]>, StoreError> {
        Ok(self.read().team.all())
    }

    async fn replace(&self, roster: &Roster) -> Result<Tally, StoreError> {
        let members = roster.as_slice().to_vec();
        Ok(self.write(|state, journal| state.team.merge(members, true, journal)))
    }
}

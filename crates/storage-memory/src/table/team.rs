//! The team.

use crate::{journal::Journal, keyed::noted};
use companion_domain::{
    change::{Kind, Subject, Tally},
    model::{Name, TeamMember, UserId},
};
use std::{collections::BTreeMap, sync::Arc};

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
        let members: BTreeMap<_, _> = members.into_iter().map(|member| (key_of(&member), member)).collect();
        let mut team: BTreeMap<_, _> = self.0.iter().map(|member| (key_of(member), member.clone())).collect();
        let before = team.len();
        team.retain(|key, _| !replace || members.contains_key(key));
        let mut tally = Tally { removed: (before - team.len()) as u64, ..Tally::NOTHING };
        for (key, member) in members {
            tally += match team.insert(key, member.clone()) {
                Some(earlier) if earlier == member => Tally::NOTHING,
                Some(_) => Tally::CHANGED,
                None => Tally::ADDED,
            };
        }
        if tally != Tally::NOTHING {
            self.0 = team.into_values().collect();
        }
        noted(tally, Subject::Many(Kind::Team), journal)
    }
}

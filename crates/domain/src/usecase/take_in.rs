//! Taking in a whole world, as a sync or an import brings it.

use crate::{
    change::{Kind, Tally},
    model::{Name, Roster, TeamMember, UserId},
    port::{Cause, Numbered, Record, RecordSource, Replace, SyncError, TeamRoster, WorldStore},
};
use async_trait::async_trait;
use std::{collections::HashSet, sync::Arc};

/// Takes in streams of records, each as one change, and keeps the team within its size while it comes in one by one.
pub struct TakeIn {
    /// All kinds at once.
    pub world: Arc<dyn WorldStore>,
    /// The team, beside which new members come.
    pub team: Arc<dyn TeamRoster>,
}

impl TakeIn {
    /// Takes in all records of the source, or none of them.
    pub async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Tally, SyncError> {
        let places = if replace.kinds.contains(&Kind::Team) {
            HashSet::new()
        } else {
            self.team.all().await?.iter().map(place).collect()
        };
        let mut counted = CountedTeam { source, places };
        self.world.sync(replace, &mut counted).await.map_err(|error| match error {
            SyncError::Source(cause) => match cause.downcast::<OneTooMany>() {
                Ok(one) => SyncError::TeamFull { line: one.line },
                Err(cause) => SyncError::Source(cause),
            },
            other @ (SyncError::UnknownGuild { .. } | SyncError::TeamFull { .. } | SyncError::Store(_)) => {
                other
            }
        })
    }
}

/// A source that ends with an error where it names one more member than a team can have.
struct CountedTeam<'a> {
    source: &'a mut dyn RecordSource,
    /// Never more than a team can have.
    places: HashSet<(UserId, Name)>,
}

#[derive(Debug, thiserror::Error)]
#[error("line {line} is one too many")]
struct OneTooMany {
    line: u64,
}

fn place(member: &TeamMember) -> (UserId, Name) {
    let (user, category) = member.key();
    (user, category.clone())
}

impl CountedTeam<'_> {
    /// Gives a member their place. False where there is none left.
    fn take(&mut self, member: &TeamMember) -> bool {
        let place = place(member);
        self.places.contains(&place) || (self.places.len() < Roster::MAX && self.places.insert(place))
    }
}

#[async_trait]
impl RecordSource for CountedTeam<'_> {
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, Cause> {
        let records = self.source.next().await?;
        for Numbered { line, record } in records.iter().flatten() {
            if let Record::TeamMember(member) = record
                && !self.take(member)
            {
                return Err(OneTooMany { line: *line }.into());
            }
        }
        Ok(records)
    }
}

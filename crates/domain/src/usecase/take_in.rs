//! Taking in a whole world, as a sync or an import brings it.

use crate::{
    change::{Kind, Tally},
    model::{Name, Roster, TeamMember, UserId},
    port::{Numbered, Record, RecordSource, Replace, SourceError, SyncError, TeamRoster, WorldStore},
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
        self.world.sync(replace, &mut counted).await
    }
}

/// A source that ends with an error where it names one more member than a team can have.
struct CountedTeam<'a> {
    source: &'a mut dyn RecordSource,
    /// Never more than a team can have.
    places: HashSet<(UserId, Name)>,
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
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError> {
        let records = self.source.next().await?;
        for Numbered { line, record } in records.iter().flatten() {
            if let Record::TeamMember(member) = record
                && !self.take(member)
            {
                return Err(SourceError::TeamFull { line: *line });
            }
        }
        Ok(records)
    }
}

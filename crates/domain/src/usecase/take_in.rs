//! Taking in a whole world, as a sync or an import brings it.

use crate::{
    change::{Kind, Tally},
    model::{Name, Roster, TeamMember, UserId},
    port::{Numbered, Record, RecordSource, Replace, SourceError, SyncError, TeamRoster, WorldStore},
};
use async_trait::async_trait;
use std::{collections::HashSet, sync::Arc};

/// Stores streams of records, each as one change, and keeps the team within its size while its members come one by one.
pub struct TakeIn {
    /// Stores all kinds as one change.
    pub world: Arc<dyn WorldStore>,
    /// The team as it is, where new members are added to it.
    pub team: Arc<dyn TeamRoster>,
}

impl TakeIn {
    /// Takes in all records of the source, or none of them.
    pub async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Tally, SyncError> {
        let mut bounded = self.bounded(replace, source).await?;
        self.world.sync(replace, &mut bounded).await
    }

    /// The records of the source, ending with an error where they name one more member than a team can have.
    pub async fn bounded<'a>(
        &self,
        replace: &Replace,
        source: &'a mut dyn RecordSource,
    ) -> Result<impl RecordSource + use<'a>, SyncError> {
        let keys = if replace.kinds.contains(&Kind::Team) {
            HashSet::new()
        } else {
            self.team.all().await?.iter().map(key).collect()
        };
        Ok(BoundedTeam { source, keys })
    }
}

/// A source that ends with an error where it names one more member than a team can have.
struct BoundedTeam<'a> {
    source: &'a mut dyn RecordSource,
    /// Never more than a team can have.
    keys: HashSet<(UserId, Name)>,
}

fn key(member: &TeamMember) -> (UserId, Name) {
    let (user, category) = member.key();
    (user, category.clone())
}

impl BoundedTeam<'_> {
    /// Counts a member. False where the team is full.
    fn admit(&mut self, member: &TeamMember) -> bool {
        let key = key(member);
        self.keys.contains(&key) || (self.keys.len() < Roster::MAX && self.keys.insert(key))
    }
}

#[async_trait]
impl RecordSource for BoundedTeam<'_> {
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError> {
        let records = self.source.next().await?;
        for Numbered { line, record } in records.iter().flatten() {
            if let Record::TeamMember(member) = record
                && !self.admit(member)
            {
                return Err(SourceError::TeamFull { line: *line });
            }
        }
        Ok(records)
    }
}

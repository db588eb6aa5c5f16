//! Applying what the bot reports, and looking it up.

use crate::{
    change::{Key, Kind, Tally},
    model::{Name, Roster, TeamMember, UserId},
    port::{
        ApplyError, Mutation, Numbered, Record, RecordSource, Records, Replace, SourceError, StoreError,
        SyncError, TeamRoster,
    },
};
use async_trait::async_trait;
use std::{collections::HashSet, sync::Arc};

/// Applies what the bot reports, and looks it up.
pub struct Feed {
    /// The records. When a write returns, the caches and public answers of this process show it.
    pub records: Arc<dyn Records>,
    /// The current team, for the limit of its size.
    pub team: Arc<dyn TeamRoster>,
}

impl Feed {
    /// Applies all mutations as one change, or none of them.
    pub async fn apply(&self, batch: Vec<Mutation>) -> Result<Tally, ApplyError> {
        self.records.apply(batch).await.map(|applied| applied.tally)
    }

    /// Applies a whole stream as one change, or nothing of it.
    pub async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Tally, SyncError> {
        let mut bounded = self.bounded(replace, source).await?;
        self.records.sync(replace, &mut bounded).await.map(|applied| applied.tally)
    }

    /// Returns a record as it is stored.
    pub async fn find(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        self.records.find(key).await
    }

    /// Wraps a source so that it fails once the team would exceed its maximum size.
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

/// A source that fails once the team would exceed its maximum size.
struct BoundedTeam<'a> {
    source: &'a mut dyn RecordSource,
    /// At most as many as a team can have.
    keys: HashSet<(UserId, Name)>,
}

fn key(member: &TeamMember) -> (UserId, Name) {
    let (user, category) = member.key();
    (user, category.clone())
}

impl BoundedTeam<'_> {
    /// Counts a member. Returns `false` if the team is full.
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
            if let Record::Team(member) = record
                && !self.admit(member)
            {
                return Err(SourceError::TeamFull { line: *line });
            }
        }
        Ok(records)
    }
}

//! Applying what the bot reports.

use crate::{
    change::{Kind, Tally},
    model::{Roster, TeamMember},
    port::{
        ApplyError, CheckedSource, Mutation, Numbered, Record, RecordSource, Records, Replace, SourceError,
        SyncError, TeamRoster,
    },
};
use std::{collections::HashSet, sync::Arc};

/// Applies what the bot reports.
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

    /// Wraps a source so that it fails once the team would exceed its maximum size.
    pub async fn bounded<'a>(
        &self,
        replace: &Replace,
        source: &'a mut dyn RecordSource,
    ) -> Result<impl RecordSource + use<'a>, SyncError> {
        let key = |member: &TeamMember| (member.user.id, member.category.clone());
        // At most as many as a team can have.
        let mut places: HashSet<_> = if replace.kinds.contains(&Kind::Team) {
            HashSet::new()
        } else {
            self.team.all().await?.iter().map(key).collect()
        };
        let check = move |numbered: &Numbered| match &numbered.record {
            Record::Team(member) if places.insert(key(member)) && places.len() > Roster::MAX => {
                Err(SourceError::TeamFull { line: numbered.line })
            }
            _ => Ok(()),
        };
        Ok(CheckedSource { source, check })
    }
}

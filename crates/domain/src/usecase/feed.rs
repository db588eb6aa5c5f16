//! Applying what the bot reports.

use super::ChangeDispatcher;
use crate::{
    change::{Applied, Key, Kind, Tally},
    model::{Roster, TeamMember, UserId},
    port::{
        ApplyError, CheckedSource, Mutation, Numbered, Record, RecordSink, RecordSource, Records, Replace,
        SourceError, StoreError, Stores, SyncError, TeamRoster,
    },
};
use async_trait::async_trait;
use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

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

/// Records whose changes are delivered to all subscribers of this process before a write returns. Writes of kinds that
/// are read from outside of the store would have no visible effect, so they are rejected.
pub struct DispatchedRecords {
    records: Arc<dyn Records>,
    kept_elsewhere: BTreeSet<Kind>,
    dispatcher: Arc<ChangeDispatcher>,
}

impl DispatchedRecords {
    /// Wraps the records of these stores.
    #[must_use]
    pub fn by(dispatcher: Arc<ChangeDispatcher>, stores: &Stores) -> Arc<dyn Records> {
        let (records, kept_elsewhere) = (Arc::clone(&stores.records), stores.kept_elsewhere().clone());
        Arc::new(Self { records, kept_elsewhere, dispatcher })
    }

    async fn deliver<E>(&self, written: Result<Applied, E>) -> Result<Applied, E> {
        match &written {
            Ok(applied) => self.dispatcher.deliver(&applied.changes).await,
            // Only the feed knows whether anything has changed.
            Err(_) => drop(self.dispatcher.catch_up().await),
        }
        written
    }
}

#[async_trait]
impl Records for DispatchedRecords {
    async fn apply(&self, batch: Vec<Mutation>) -> Result<Applied, ApplyError> {
        match batch.iter().map(Mutation::kind).find(|kind| self.kept_elsewhere.contains(kind)) {
            Some(kind) => Err(ApplyError::KeptElsewhere(kind)),
            None => self.deliver(self.records.apply(batch).await).await,
        }
    }

    async fn find(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        self.records.find(key).await
    }

    async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Applied, SyncError> {
        if let Some(kind) = replace.kinds.intersection(&self.kept_elsewhere).next() {
            return Err(SourceError::KeptElsewhere(*kind).into());
        }
        let check = |numbered: &Numbered| match numbered.record.kind() {
            kind if self.kept_elsewhere.contains(&kind) => Err(SourceError::KeptElsewhere(kind)),
            _ => Ok(()),
        };
        self.deliver(self.records.sync(replace, &mut CheckedSource { source, check }).await).await
    }

    async fn export(&self, sink: &mut dyn RecordSink) -> Result<(), SyncError> {
        self.records.export(sink).await
    }

    async fn about(&self, user: UserId) -> Result<Vec<Record>, StoreError> {
        self.records.about(user).await
    }

    async fn forget(&self, user: UserId) -> Result<Applied, StoreError> {
        self.deliver(self.records.forget(user).await).await
    }
}

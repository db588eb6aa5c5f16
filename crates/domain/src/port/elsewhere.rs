//! Decorators for what is read from outside of the store.

use super::{
    ApplyError, Asked, BlockList, GuildDirectory, Listing, Listings, Mutation, Numbered, Record, RecordSink,
    RecordSource, Records, Replace, SourceError, StoreError, SyncError,
};
use crate::{
    change::{Applied, Key, Kind},
    model::UserId,
};
use async_trait::async_trait;
use std::{collections::BTreeSet, sync::Arc};

/// Records of a store beside which some kinds are kept elsewhere. Writing those would change nothing that anyone reads,
/// so it is refused.
pub(super) struct RecordsKeptElsewhere {
    pub(super) stored: Arc<dyn Records>,
    pub(super) elsewhere: BTreeSet<Kind>,
}

#[async_trait]
impl Records for RecordsKeptElsewhere {
    async fn apply(&self, batch: Vec<Mutation>) -> Result<Applied, ApplyError> {
        match batch.iter().map(Mutation::kind).find(|kind| self.elsewhere.contains(kind)) {
            Some(kind) => Err(ApplyError::KeptElsewhere(kind)),
            None => self.stored.apply(batch).await,
        }
    }

    async fn find(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        self.stored.find(key).await
    }

    async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Applied, SyncError> {
        if let Some(kind) = replace.kinds.intersection(&self.elsewhere).next() {
            return Err(SourceError::KeptElsewhere(*kind).into());
        }
        self.stored.sync(replace, &mut SourceOfTheRest { source, elsewhere: &self.elsewhere }).await
    }

    async fn export(&self, sink: &mut dyn RecordSink) -> Result<(), SyncError> {
        self.stored.export(sink).await
    }

    async fn about(&self, user: UserId) -> Result<Vec<Record>, StoreError> {
        self.stored.about(user).await
    }

    async fn forget(&self, user: UserId) -> Result<Applied, StoreError> {
        self.stored.forget(user).await
    }
}

/// A source that ends with an error at the first record of a kind that is kept elsewhere.
struct SourceOfTheRest<'a> {
    source: &'a mut dyn RecordSource,
    elsewhere: &'a BTreeSet<Kind>,
}

#[async_trait]
impl RecordSource for SourceOfTheRest<'_> {
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError> {
        let records = self.source.next().await?;
        let kinds = records.iter().flatten().map(|numbered| numbered.record.kind());
        match kinds.into_iter().find(|kind| self.elsewhere.contains(kind)) {
            Some(kind) => Err(SourceError::KeptElsewhere(kind)),
            None => Ok(records),
        }
    }
}

/// Listings with blocks and guilds from these ports, which are asked each time. Nothing of it is cached, and it is not of
/// one moment.
pub(super) struct ListingsFromElsewhere {
    pub(super) stored: Arc<dyn Listings>,
    pub(super) blocked: Arc<dyn BlockList>,
    pub(super) guilds: Arc<dyn GuildDirectory>,
}

#[async_trait]
impl Listings for ListingsFromElsewhere {
    async fn read(&self, user: UserId, asked: Asked) -> Result<Arc<Listing>, StoreError> {
        let stored = self.stored.read(user, asked).await?;
        let guilds = asked.guilds(stored.grant.as_ref());
        Ok(Arc::new(Listing {
            blocked: self.blocked.is_blocked(user).await?,
            guilds: self.guilds.seen_by(user, &guilds).await?,
            ..Listing::clone(&stored)
        }))
    }
}

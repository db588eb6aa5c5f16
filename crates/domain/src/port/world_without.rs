//! The world, but for a kind that is kept outside of the store.

use super::{
    Numbered, Record, RecordSink, RecordSource, RefusedLine, Replace, SourceError, StoreError, SyncError,
    WorldStore,
};
use crate::{
    change::{Kind, Tally},
    model::UserId,
};
use async_trait::async_trait;
use std::sync::Arc;

/// The world of a store beside which one kind of things is kept elsewhere. A sync that brings or replaces the kind would
/// change only what nobody reads, so it is refused. Exporting, telling and forgetting are the store's own.
pub(super) struct WorldWithout {
    pub(super) world: Arc<dyn WorldStore>,
    pub(super) kind: Kind,
}

#[async_trait]
impl WorldStore for WorldWithout {
    async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Tally, SyncError> {
        let kind = self.kind;
        if replace.kinds.contains(&kind) {
            return Err(SyncError::KeptOutside { kind });
        }
        self.world.sync(replace, &mut SourceWithout { source, kind }).await
    }

    async fn export(&self, sink: &mut dyn RecordSink) -> Result<(), SyncError> {
        self.world.export(sink).await
    }

    async fn about(&self, user: UserId) -> Result<Vec<Record>, StoreError> {
        self.world.about(user).await
    }

    async fn forget(&self, user: UserId) -> Result<Tally, StoreError> {
        self.world.forget(user).await
    }
}

/// A source that ends with an error at the first record of the kind.
struct SourceWithout<'a> {
    source: &'a mut dyn RecordSource,
    kind: Kind,
}

#[async_trait]
impl RecordSource for SourceWithout<'_> {
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError> {
        let records = self.source.next().await?;
        match records.iter().flatten().find(|numbered| numbered.record.kind() == self.kind) {
            Some(Numbered { line, .. }) => {
                let message = "is kept outside of the store here, where a sync does not reach";
                Err(RefusedLine::because(*line, "kind", message).into())
            }
            None => Ok(records),
        }
    }
}

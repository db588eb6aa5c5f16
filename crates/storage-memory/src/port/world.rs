//! Everything at once: a sync, an export, and telling and forgetting what there is of a user.

use crate::{
    state::MemoryStorage,
    world::{Snapshot, Staged, about, forget},
};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::UserId,
    port::{Record, RecordSink, RecordSource, Replace, StoreError, SyncError, WorldStore},
};

#[async_trait]
impl WorldStore for MemoryStorage {
    async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Tally, SyncError> {
        // The stream is read outside the lock, however long it takes; what it brought is then put in place at once.
        let mut staged = Staged::default();
        while let Some(records) = source.next().await.map_err(SyncError::Source)? {
            records.into_iter().for_each(|numbered| staged.take(numbered));
        }
        self.write(|state, journal| staged.apply(state, replace, journal))
    }

    async fn export(&self, sink: &mut dyn RecordSink) -> Result<(), SyncError> {
        let snapshot = Snapshot::of(&self.read());
        for records in snapshot.into_batches() {
            sink.take(records).await.map_err(SyncError::Sink)?;
        }
        Ok(())
    }

    async fn about(&self, user: UserId) -> Result<Vec<Record>, StoreError> {
        Ok(about(&self.read(), user))
    }

    async fn forget(&self, user: UserId) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| forget(state, user, journal)))
    }
}

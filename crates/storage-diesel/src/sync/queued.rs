//! Staging through the writer: small jobs between everyone else's, into temporary tables of its connection.
//!
//! SQLite lets one connection write at a time, temporary tables or not. No reader sees them and no commit syncs them.

use super::{AT_ONCE, apply, single, staging::StagedRows};
use crate::{storage::DieselStorage, writer::Answer};
use companion_domain::{
    change::Tally,
    port::{Numbered, RecordSource, Replace, StoreError, SyncError},
};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// Numbers syncs, so that several can be staged at a time.
static NEXT: AtomicI64 = AtomicI64::new(1);

/// Takes in all records of the source, and merges them.
pub(super) async fn run(
    storage: &DieselStorage,
    replace: &Replace,
    source: &mut dyn RecordSource,
) -> Result<Tally, SyncError> {
    let mut staging = Staging::begin(storage).await?;
    while let Some(records) = source.next().await.map_err(SyncError::Source)? {
        staging.take(records).await?;
    }
    staging.apply(replace).await
}

/// A sync that is being staged. Dropping it clears what was staged.
struct Staging<'a> {
    storage: &'a DieselStorage,
    sync: i64,
    waiting: Vec<Numbered>,
    /// The job before: while it is done, the next records are read.
    previous: Option<Answer<()>>,
    /// Whether the merge has cleared everything already.
    applied: bool,
}

impl<'a> Staging<'a> {
    async fn begin(storage: &'a DieselStorage) -> Result<Self, StoreError> {
        let staging = Self {
            storage,
            sync: NEXT.fetch_add(1, Relaxed),
            waiting: Vec::new(),
            previous: None,
            applied: false,
        };
        let sync = staging.sync;
        storage.write(move |write| Ok(single::begin(write.db, sync)?)).await?;
        Ok(staging)
    }

    async fn take(&mut self, records: Vec<Numbered>) -> Result<(), StoreError> {
        for record in records {
            self.waiting.push(record);
            if self.waiting.len() == AT_ONCE {
                self.stage().await?;
            }
        }
        Ok(())
    }

    async fn stage(&mut self) -> Result<(), StoreError> {
        let rows: StagedRows = std::mem::take(&mut self.waiting).into_iter().collect();
        let sync = self.sync;
        let answer = self
            .storage
            .writer()
            .submit_patiently(move |write| {
                single::check(write.db, sync)?;
                Ok(rows.insert(write.db, sync)?)
            })
            .await?;
        match self.previous.replace(answer) {
            Some(previous) => previous.wait().await,
            None => Ok(()),
        }
    }

    async fn apply(mut self, replace: &Replace) -> Result<Tally, SyncError> {
        self.stage().await?;
        if let Some(previous) = self.previous.take() {
            previous.wait().await?;
        }
        let (sync, replace) = (self.sync, replace.clone());
        let writer = self.storage.writer();
        let answer = writer.submit_patiently(move |write| {
            single::check(write.db, sync)?;
            let applied = apply::apply(write, sync, &replace)?;
            if applied.is_ok() {
                single::clear(write.db, sync)?;
            }
            Ok(applied)
        });
        match answer.await?.wait().await? {
            Ok(tally) => {
                self.applied = true;
                Ok(tally)
            }
            Err(unknown) => Err(unknown.into()),
        }
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        if !self.applied {
            self.storage.writer().abandon(self.sync);
        }
    }
}

//! A sync: records are staged beside the data as they come, and then merged in one transaction.
//!
//! Each sync stages in temporary tables of a connection of its own, so it may be longer than memory, and neither a slow
//! sender nor a long staging holds anyone up. It opens the connection when there is something to stage, and only a few
//! syncs have one at a time. The merge compares as a whole and writes only what differs.

#[cfg(feature = "postgres")]
mod bulk;
mod key;
mod kinds;
mod merge;
mod plan;
#[cfg(feature = "sqlite")]
mod single;
mod slots;
mod staging;
mod table;
mod workspace;

pub(crate) use self::workspace::Permits;

use self::workspace::{Busy, Workspace};
use crate::{error::Failure, storage::DieselStorage, writer::End};
use companion_domain::{
    change::Tally,
    port::{Numbered, RecordSource, Replace, StoreError, SyncError},
};

/// How many records are staged at once: enough to be quick, few enough to hold in memory.
const AT_ONCE: usize = 1000;

/// Takes in all records of the source, and merges them.
pub(crate) async fn run(
    storage: &DieselStorage,
    replace: &Replace,
    source: &mut dyn RecordSource,
) -> Result<Tally, SyncError> {
    let mut staging = Staging { storage, busy: None, waiting: Vec::new() };
    while let Some(records) = source.next().await.map_err(SyncError::Source)? {
        for record in records {
            staging.take(record).await?;
        }
    }
    let mut workspace = staging.finish().await?;
    let replace = replace.clone();
    let merged = storage.writer().in_turn(move |turn| {
        let plan = workspace.plan(&replace).map_err(|error| StoreError::from(Failure::from(error)))?;
        turn.transaction(&mut workspace.db, |write| {
            Ok(match plan.compare(write.db)? {
                Ok(()) => End::Commit(Ok(plan.write(write)?)),
                Err(unknown) => End::RollBack(Err(unknown)),
            })
        })
    });
    merged.await??.map_err(SyncError::from)
}

/// The records of a sync on their way into its workspace.
struct Staging<'a> {
    storage: &'a DieselStorage,
    /// Nothing before there is something to stage.
    busy: Option<Busy>,
    waiting: Vec<Numbered>,
}

impl Staging<'_> {
    async fn take(&mut self, record: Numbered) -> Result<(), StoreError> {
        self.waiting.push(record);
        if self.waiting.len() == AT_ONCE {
            let records = std::mem::take(&mut self.waiting);
            self.busy = Some(self.workspace().await?.take(records).await?);
        }
        Ok(())
    }

    async fn finish(mut self) -> Result<Workspace, StoreError> {
        let last = std::mem::take(&mut self.waiting);
        self.workspace().await?.take(last).await?.done().await
    }

    async fn workspace(&mut self) -> Result<Busy, StoreError> {
        match self.busy.take() {
            Some(busy) => Ok(busy),
            None => Busy::open(self.storage.database(), self.storage.sync_permits()).await,
        }
    }
}

//! The connection of a sync, and the merge that moves between threads.

use super::plan::{Compared, Merged, Plan};
use crate::{
    connection::AnyConnection,
    failure::WorkError,
    limits::Purpose,
    storage::DieselStorage,
    table::{
        history::ChangeNumber,
        staging::{self, RecordBatch},
    },
    writer::{BulkWrite, DeferredCheckpoint, End},
};
use companion_domain::{
    change::Kind,
    port::{Numbered, Replace, StoreError},
};
use diesel::QueryResult;
use std::{collections::BTreeSet, sync::Arc};
use tokio::{
    sync::OwnedSemaphorePermit,
    task::{JoinHandle, spawn_blocking},
};

/// Whether a merge is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergeMode {
    Commit,
    /// Rolls back, and only returns what would change.
    DryRun,
}

/// A staged sync and its plan. Each step moves it to a thread that may block, and returns it.
pub(super) struct Merging {
    workspace: Workspace,
    plan: Plan,
    mode: MergeMode,
    /// Set after a write: the checkpoint that is still due.
    checkpoint: Option<DeferredCheckpoint>,
}

impl Merging {
    /// Plans the merge, once all records are staged.
    pub(super) async fn begin(
        mut workspace: Workspace,
        replace: Replace,
        mode: MergeMode,
    ) -> Result<Self, StoreError> {
        blocking(move || {
            let plan = Plan::new(&workspace.kinds, &replace);
            workspace.make_tables(replace.kinds)?;
            let tables = workspace.kinds.iter().flat_map(|kind| staging::staged_tables(*kind));
            staging::analyse(&mut workspace.db, &tables.map(str::to_owned).collect::<Vec<_>>())?;
            Ok(Self { workspace, plan, mode, checkpoint: None })
        })
        .await
    }

    /// Compares staged rows with a snapshot of the stored ones, and prepares the differing ones for writing. Blocks no
    /// writer.
    pub(super) async fn compare(mut self) -> Result<(Self, Compared), StoreError> {
        blocking(move || {
            let (db, plan) = (&mut self.workspace.db, &self.plan);
            let compared = db.snapshot(|db| plan.compare(db))?;
            staging::analyse(db, &plan.differing())?;
            if matches!(compared, Compared::Differing(_)) {
                plan.touch(db)?;
            }
            Ok((self, compared))
        })
        .await
    }

    /// Writes the differing rows once it holds the write lock. A write that has started completes, even if the caller
    /// stops waiting.
    pub(super) async fn write(
        self,
        storage: &DieselStorage,
        change: ChangeNumber,
        last: bool,
    ) -> Result<(Self, Merged), StoreError> {
        storage.writer().bulk(move |bulk| self.write_in(bulk, change, last)).await?
    }

    fn write_in(
        mut self,
        bulk: &BulkWrite,
        change: ChangeNumber,
        last: bool,
    ) -> Result<(Self, Merged), StoreError> {
        self.checkpoint = Some(bulk.defer_checkpoint());
        let (db, plan, mode) = (&mut self.workspace.db, &self.plan, self.mode);
        let merged = bulk.transaction(db, plan.access(), |write| {
            Ok(match (plan.merge(write, change, last)?, mode) {
                (End::Commit(merged), MergeMode::DryRun) => End::RollBack(merged),
                (end, _) => end,
            })
        })?;
        Ok((self, merged))
    }

    /// Returns `result`, and runs the due checkpoint in the background.
    pub(super) fn end<T>(mut self, result: T) -> T {
        drop(spawn_blocking(move || {
            if let Some(checkpoint) = self.checkpoint.take() {
                checkpoint.make(&mut self.workspace.db);
            }
        }));
        result
    }
}

/// Runs work on a blocking thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkError> + Send + 'static,
) -> Result<T, StoreError> {
    joined(spawn_blocking(work)).await
}

/// Waits for a blocking thread.
pub(super) async fn joined<T>(thread: JoinHandle<Result<T, WorkError>>) -> Result<T, StoreError> {
    Ok(thread.await.map_err(StoreError::unavailable)??)
}

/// A connection and its temporary tables. Dropping it, as any early end of a sync does, removes them.
pub(super) struct Workspace {
    pub(super) db: AnyConnection,
    kinds: BTreeSet<Kind>,
    /// Declared after the connection, so it is released after it.
    _permit: OwnedSemaphorePermit,
}

impl Workspace {
    /// Opens a connection, once the sync has a permit.
    pub(super) async fn open(storage: &DieselStorage) -> Result<Self, StoreError> {
        let (database, permit) = (Arc::clone(storage.database()), storage.sync_permit().await?);
        let opening = spawn_blocking(move || {
            let db = database.connect(Purpose::Bulk).map_err(StoreError::unavailable)?;
            Ok(Self { db, kinds: BTreeSet::new(), _permit: permit })
        });
        opening.await.map_err(StoreError::unavailable)?
    }

    /// Stages these records on a blocking thread.
    pub(super) fn stage(mut self, records: Vec<Numbered>) -> JoinHandle<Result<Self, WorkError>> {
        spawn_blocking(move || {
            let batch: RecordBatch = records.into_iter().collect();
            self.make_tables(batch.kinds())?;
            batch.stage(&mut self.db)?;
            Ok(self)
        })
    }

    fn make_tables(&mut self, mut kinds: BTreeSet<Kind>) -> QueryResult<()> {
        if kinds.iter().any(|kind| kind.is_of_guild()) {
            // Whether the guild of a record is known also depends on the staged guilds.
            kinds.insert(Kind::Guild);
        }
        for kind in kinds.difference(&self.kinds.clone()) {
            staging::create(*kind, &mut self.db)?;
            self.kinds.insert(*kind);
        }
        Ok(())
    }
}

//! The connection of a sync, and the merge that moves between threads.

use super::plan::{Compared, Merged, Plan};
use crate::{
    connection::AnyConnection,
    failure::WorkError,
    purpose::Purpose,
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
    pub(super) async fn begin(
        mut workspace: Workspace,
        replace: Replace,
        mode: MergeMode,
    ) -> Result<Self, StoreError> {
        blocking(move || {
            let plan = workspace.plan(&replace)?;
            Ok(Self { workspace, plan, mode, checkpoint: None })
        })
        .await
    }

    /// Compares staged rows with a snapshot of the stored ones. Blocks no writer.
    pub(super) async fn compare(mut self) -> Result<(Self, Compared), StoreError> {
        blocking(move || {
            let compared = self.workspace.compare(&self.plan)?;
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
    match spawn_blocking(work).await {
        Ok(done) => Ok(done?),
        Err(stopped) => Err(StoreError::unavailable(stopped)),
    }
}

/// A connection and its temporary tables. Dropping it, as any early end of a sync does, removes them.
pub(super) struct Workspace {
    pub(super) db: AnyConnection,
    kinds: BTreeSet<Kind>,
    /// Declared after the connection, so it is released after it.
    _permit: OwnedSemaphorePermit,
}

impl Workspace {
    fn stage(&mut self, records: Vec<Numbered>) -> QueryResult<()> {
        let batch: RecordBatch = records.into_iter().collect();
        self.make_tables(batch.kinds())?;
        batch.stage(&mut self.db)
    }

    /// Returns what to merge, once all records are staged.
    pub(super) fn plan(&mut self, replace: &Replace) -> Result<Plan, WorkError> {
        let plan = Plan::new(&self.kinds, replace);
        self.make_tables(replace.kinds.clone())?;
        let tables = self.kinds.iter().flat_map(|kind| staging::staged_tables(*kind)).map(str::to_owned);
        staging::analyse(&mut self.db, &tables.collect::<Vec<_>>())?;
        Ok(plan)
    }

    /// Compares staged rows with a snapshot of the stored ones, and prepares the differing ones for writing. Blocks no
    /// writer.
    pub(super) fn compare(&mut self, plan: &Plan) -> Result<Compared, WorkError> {
        let compared = self.db.snapshot(|db| plan.compare(db))?;
        staging::analyse(&mut self.db, &plan.differing())?;
        if matches!(compared, Compared::Differing(_)) {
            plan.touch(&mut self.db)?;
        }
        Ok(compared)
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

/// A workspace that is in use by a blocking thread.
pub(super) struct InFlight(JoinHandle<Result<Workspace, StoreError>>);

impl InFlight {
    /// Starts to open a connection, once the sync has a permit.
    pub(super) async fn open(storage: &DieselStorage) -> Result<Self, StoreError> {
        let (database, permit) = (Arc::clone(storage.database()), storage.sync_permit().await?);
        Ok(Self(spawn_blocking(move || {
            let db = database.connect(Purpose::Bulk).map_err(StoreError::unavailable)?;
            Ok(Workspace { db, kinds: BTreeSet::new(), _permit: permit })
        })))
    }

    /// Starts to stage these records, once the previous ones are staged. The next records are read meanwhile.
    pub(super) async fn take(self, records: Vec<Numbered>) -> Result<Self, StoreError> {
        let mut workspace = self.done().await?;
        Ok(Self(spawn_blocking(move || {
            workspace.stage(records).map_err(WorkError::from)?;
            Ok(workspace)
        })))
    }

    /// Returns the workspace, once everything is staged.
    pub(super) async fn done(self) -> Result<Workspace, StoreError> {
        self.0.await.unwrap_or_else(|stopped| Err(StoreError::unavailable(stopped)))
    }
}

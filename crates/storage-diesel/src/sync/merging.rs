//! A sync's own connection, and the merge on its way from one thread to another.

use super::plan::{Compared, Merged, Plan};
use crate::{
    connection::AnyConnection,
    failure::Failure,
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

/// What becomes of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Kept,
    RolledBack,
}

/// What was staged, and what is to be done with it. Each step takes it along to where it may block, and hands it back.
pub(super) struct Merging {
    workspace: Workspace,
    plan: Plan,
    fate: Fate,
    /// Something was written, and has to be moved from the log to where it belongs.
    checkpoint: Option<DeferredCheckpoint>,
}

impl Merging {
    pub(super) async fn begin(
        mut workspace: Workspace,
        replace: Replace,
        fate: Fate,
    ) -> Result<Self, StoreError> {
        blocking(move || {
            let plan = workspace.plan(&replace)?;
            Ok(Self { workspace, plan, fate, checkpoint: None })
        })
        .await
    }

    /// Compares with what is stored now. Nobody waits for it.
    pub(super) async fn compare(mut self) -> Result<(Self, Compared), StoreError> {
        blocking(move || {
            let compared = self.workspace.compare(&self.plan)?;
            Ok((self, compared))
        })
        .await
    }

    /// Writes what differs, as soon as it may. Once it has begun it ends, whether or not anyone waits for it.
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
        let (db, plan, fate) = (&mut self.workspace.db, &self.plan, self.fate);
        let merged = bulk.transaction(db, plan.access(), |write| {
            Ok(match (plan.merge(write, change, last)?, fate) {
                (End::Commit(merged), Fate::RolledBack) => End::RollBack(merged),
                (end, _) => end,
            })
        })?;
        Ok((self, merged))
    }

    /// Ends with this. What is left to be done is done where nobody waits for it.
    pub(super) fn end<T>(mut self, result: T) -> T {
        drop(spawn_blocking(move || {
            if let Some(checkpoint) = self.checkpoint.take() {
                checkpoint.make(&mut self.workspace.db);
            }
        }));
        result
    }
}

/// Runs work where it may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, StoreError> {
    match spawn_blocking(work).await {
        Ok(done) => Ok(done?),
        Err(stopped) => Err(StoreError::unavailable(stopped)),
    }
}

/// A connection whose temporary tables live as long as it does. Whatever ends a sync early drops it, and nothing is left.
pub(super) struct Workspace {
    pub(super) db: AnyConnection,
    kinds: BTreeSet<Kind>,
    /// Declared after the connection, so given back after it.
    _permit: OwnedSemaphorePermit,
}

impl Workspace {
    fn stage(&mut self, records: Vec<Numbered>) -> QueryResult<()> {
        let batch: RecordBatch = records.into_iter().collect();
        self.make_tables(batch.kinds().clone())?;
        batch.stage(&mut self.db)
    }

    /// Says what is to be merged, once all records are staged.
    pub(super) fn plan(&mut self, replace: &Replace) -> Result<Plan, Failure> {
        let plan = Plan::new(&self.kinds, replace);
        self.make_tables(replace.kinds.clone())?;
        let tables = self.kinds.iter().flat_map(|kind| staging::staged_tables(*kind)).map(str::to_owned);
        staging::analyse(&mut self.db, &tables.collect::<Vec<_>>())?;
        Ok(plan)
    }

    /// Compares with what is stored at this moment, and gets what differs ready to be written. Nobody waits for it.
    pub(super) fn compare(&mut self, plan: &Plan) -> Result<Compared, Failure> {
        let compared = self.db.snapshot(|db| plan.compare(db))?;
        staging::analyse(&mut self.db, &plan.differing())?;
        if matches!(compared, Compared::Differing(_)) {
            plan.touch(&mut self.db)?;
        }
        Ok(compared)
    }

    fn make_tables(&mut self, mut kinds: BTreeSet<Kind>) -> QueryResult<()> {
        if kinds.contains(&Kind::Member) {
            // Whether a member's guild is known also depends on the guilds that were staged.
            kinds.insert(Kind::Guild);
        }
        for kind in kinds.difference(&self.kinds.clone()) {
            staging::create(*kind, &mut self.db)?;
            self.kinds.insert(*kind);
        }
        Ok(())
    }
}

/// A workspace that a blocking thread is at work with.
pub(super) struct InFlight(JoinHandle<Result<Workspace, StoreError>>);

impl InFlight {
    /// Begins to open a connection, once this sync may have one.
    pub(super) async fn open(storage: &DieselStorage) -> Result<Self, StoreError> {
        let (database, permit) = (Arc::clone(storage.database()), storage.sync_permit().await?);
        Ok(Self(spawn_blocking(move || {
            let db = database.connect(Purpose::Bulk).map_err(StoreError::unavailable)?;
            Ok(Workspace { db, kinds: BTreeSet::new(), _permit: permit })
        })))
    }

    /// Begins to stage these records, once those before are. While it is done, the next are read.
    pub(super) async fn take(self, records: Vec<Numbered>) -> Result<Self, StoreError> {
        let mut workspace = self.done().await?;
        Ok(Self(spawn_blocking(move || {
            workspace.stage(records).map_err(Failure::from)?;
            Ok(workspace)
        })))
    }

    /// The workspace, once everything is staged.
    pub(super) async fn done(self) -> Result<Workspace, StoreError> {
        self.0.await.unwrap_or_else(|stopped| Err(StoreError::unavailable(stopped)))
    }
}

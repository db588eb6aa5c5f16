//! A merge on its way from one thread to another.

use super::{
    plan::{Compared, Merged, Plan},
    workspace::Workspace,
};
use crate::{
    failure::Failure,
    storage::DieselStorage,
    table::history::ChangeNumber,
    writer::{BulkWrite, DeferredCheckpoint, End},
};
use companion_domain::port::{Replace, StoreError};
use tokio::task::spawn_blocking;

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

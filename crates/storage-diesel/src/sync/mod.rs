//! A sync: records are staged beside the data as they come, and then merged in one transaction.
//!
//! Each sync stages in temporary tables of a connection of its own, so it may be longer than memory, and neither a slow
//! sender nor a long staging holds anyone up. It opens the connection when there is something to stage, and only a few
//! syncs have one at a time. The merge compares as a whole in a snapshot, while others go on writing. With the right to
//! write it then looks up what they have changed meanwhile, compares that anew, and writes only what differs.

#[cfg(feature = "postgres")]
mod bulk;
mod key;
mod kinds;
mod merge;
mod overtaken;
mod plan;
#[cfg(test)]
mod race_test;
#[cfg(feature = "sqlite")]
mod single;
mod slots;
mod staging;
mod table;
mod workspace;

pub(crate) use self::workspace::Permits;

use self::{
    plan::{Compared, Merged},
    workspace::{Busy, Workspace},
};
use crate::{error::Failure, storage::DieselStorage};
use companion_domain::{
    change::Tally,
    port::{Numbered, RecordSource, Replace, StoreError, SyncError},
};
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// How many records are staged at once: enough to be quick, few enough to hold in memory.
const AT_ONCE: usize = 1000;

/// How often a sync compares while others write. Where they change too much each time, it then compares once more while
/// they wait.
const ATTEMPTS: u32 = 3;

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
    merge(storage, staging.finish().await?, replace.clone()).await
}

/// Merges what was staged: compares it while others write, and then writes what differs while nobody else does.
async fn merge(
    storage: &DieselStorage,
    mut workspace: Workspace,
    replace: Replace,
) -> Result<Tally, SyncError> {
    let (mut workspace, plan) = blocking(move || {
        let plan = workspace.plan(&replace)?;
        Ok((workspace, plan))
    })
    .await?;
    let plan = Arc::new(plan);
    let mut attempt = 1;
    loop {
        let compared;
        (workspace, compared) = blocking({
            let plan = Arc::clone(&plan);
            move || {
                let compared = workspace.compare(&plan)?;
                Ok((workspace, compared))
            }
        })
        .await?;
        let revision = match compared {
            Compared::Same => {
                workspace.leave(None);
                return Ok(Tally::NOTHING);
            }
            Compared::Unknown(unknown) => {
                workspace.leave(None);
                return Err(unknown.into());
            }
            Compared::Differing(revision) => revision,
        };
        let (plan, last) = (Arc::clone(&plan), attempt == ATTEMPTS);
        let merging = storage.writer().in_turn(move |turn| {
            let duty = turn.take_checkpoint_duty();
            let merged = turn
                .transaction(&mut workspace.db, plan.access(), |write| plan.merge(write, revision, last))?;
            Ok::<_, StoreError>((workspace, merged, duty))
        });
        let (merged, duty);
        (workspace, merged, duty) = merging.await??;
        match merged {
            Merged::Done(tally) => {
                workspace.leave(Some(duty));
                return Ok(tally);
            }
            Merged::Unknown(unknown) => {
                workspace.leave(None);
                return Err(unknown.into());
            }
            Merged::Overtaken => attempt += 1,
        }
    }
}

/// Runs work on the workspace where it may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, StoreError> {
    match spawn_blocking(work).await {
        Ok(done) => Ok(done?),
        Err(stopped) => Err(StoreError::unavailable(stopped)),
    }
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

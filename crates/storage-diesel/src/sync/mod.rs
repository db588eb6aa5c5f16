//! A sync: records are staged beside the data as they come, and then merged in one transaction.
//!
//! Each sync stages in temporary tables of a connection of its own, so it may be longer than memory, and neither a slow
//! sender nor a long staging holds anyone up. It opens the connection when there is something to stage, and only a few
//! syncs have one at a time. The merge compares as a whole in a snapshot, while others go on writing. With the right to
//! write it then looks up what they have changed meanwhile, compares that anew, and writes only what differs.

mod merging;
mod plan;
#[cfg(test)]
mod race_test;

pub(crate) use self::merging::Fate;

use self::{
    merging::{InFlight, Merging, Workspace},
    plan::{Compared, Merged},
};
use crate::storage::DieselStorage;
use companion_domain::{
    change::{Applied, Tally},
    port::{Numbered, RecordSource, Replace, StoreError, SyncError},
};

/// How many records are staged at once: enough to be quick, few enough to hold in memory.
const BATCH: usize = 1000;

/// How often a sync compares while others write. Where they change too much each time, it then compares once more while
/// they wait.
const ATTEMPTS: u32 = 3;

impl DieselStorage {
    /// What a sync of these records would change, without changing anything: the whole of it is done, and rolled back before
    /// anyone sees it. Others wait for it as for a sync.
    pub async fn preview(
        &self,
        replace: &Replace,
        source: &mut dyn RecordSource,
    ) -> Result<Tally, SyncError> {
        Ok(run(self, replace, source, Fate::RolledBack).await?.tally)
    }
}

/// Takes in all records of the source, and merges them for good or for show.
pub(crate) async fn run(
    storage: &DieselStorage,
    replace: &Replace,
    source: &mut dyn RecordSource,
    fate: Fate,
) -> Result<Applied, SyncError> {
    let mut staging = Staging { storage, in_flight: None, pending: Vec::new() };
    while let Some(records) = source.next().await.map_err(SyncError::Source)? {
        for record in records {
            staging.take(record).await?;
        }
    }
    merge(storage, staging.finish().await?, replace.clone(), fate).await
}

/// Merges what was staged: compares it while others write, and then writes what differs while nobody else does.
async fn merge(
    storage: &DieselStorage,
    workspace: Workspace,
    replace: Replace,
    fate: Fate,
) -> Result<Applied, SyncError> {
    let mut merging = Merging::begin(workspace, replace, fate).await?;
    let mut attempt = 1;
    loop {
        let (compared, merged);
        (merging, compared) = merging.compare().await?;
        let change = match compared {
            Compared::Same => return Ok(merging.end(Applied::default())),
            Compared::Unknown(unknown) => return Err(merging.end(unknown).into()),
            Compared::Differing(change) => change,
        };
        (merging, merged) = merging.write(storage, change, attempt == ATTEMPTS).await?;
        match merged {
            Merged::Done(applied) => return Ok(merging.end(applied)),
            Merged::Unknown(unknown) => return Err(merging.end(unknown).into()),
            Merged::Overtaken => attempt += 1,
        }
    }
}

/// The records of a sync on their way into its workspace.
struct Staging<'a> {
    storage: &'a DieselStorage,
    /// Nothing before there is something to stage.
    in_flight: Option<InFlight>,
    pending: Vec<Numbered>,
}

impl Staging<'_> {
    async fn take(&mut self, record: Numbered) -> Result<(), StoreError> {
        self.pending.push(record);
        if self.pending.len() == BATCH {
            let records = std::mem::take(&mut self.pending);
            self.in_flight = Some(self.workspace().await?.take(records).await?);
        }
        Ok(())
    }

    async fn finish(mut self) -> Result<Workspace, StoreError> {
        let last = std::mem::take(&mut self.pending);
        self.workspace().await?.take(last).await?.done().await
    }

    async fn workspace(&mut self) -> Result<InFlight, StoreError> {
        match self.in_flight.take() {
            Some(in_flight) => Ok(in_flight),
            None => InFlight::open(self.storage).await,
        }
    }
}

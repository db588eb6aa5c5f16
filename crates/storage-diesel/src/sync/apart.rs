//! Staging on a connection of its own: temporary tables that live as long as it does.
//!
//! Only the merge takes the writers' lock, so neither a slow sender nor a long staging holds up any node. Whatever ends
//! a sync early also drops its connection, and the server clears up.

use super::{AT_ONCE, apply, bulk, staging::StagedRows};
use crate::{
    connection::AnyConnection, error::Failure, postgres::PostgresOptions, storage::DieselStorage,
    writer::Write,
};
use companion_domain::{
    change::{Revision, Tally},
    port::{Numbered, RecordSource, Replace, StoreError, SyncError},
};
use tokio::task::{JoinHandle, spawn_blocking};

/// Staging tables are shared with SQLite, where several syncs share them too. Here each sync has its own.
const SYNC: i64 = 1;

/// Takes in all records of the source, and merges them.
pub(super) async fn run(
    storage: &DieselStorage,
    options: &PostgresOptions,
    replace: &Replace,
    source: &mut dyn RecordSource,
) -> Result<Tally, SyncError> {
    let mut staging = Staging::begin(options.clone());
    let mut waiting = Vec::new();
    while let Some(records) = source.next().await.map_err(SyncError::Source)? {
        for record in records {
            waiting.push(record);
            if waiting.len() == AT_ONCE {
                staging = staging.take(std::mem::take(&mut waiting)).await?;
            }
        }
    }
    let staging = staging.take(waiting).await?;
    let (replace, history) = (replace.clone(), options.history);
    // A merge that has begun ends, whether or not anyone waits for it.
    let merging = staging.then(move |mut db| merge(&mut db, &replace, history)).await?;
    let merged = merging.await.unwrap_or_else(|stopped| Err(StoreError::unavailable(stopped)))?;
    match merged {
        Ok((tally, latest)) => {
            if let Some(latest) = latest {
                storage.writer().shared().announce(latest);
            }
            Ok(tally)
        }
        Err(unknown) => Err(unknown.into()),
    }
}

/// The connection, in the hands of a thread that is doing something with it.
struct Staging(JoinHandle<Result<AnyConnection, StoreError>>);

impl Staging {
    fn begin(options: PostgresOptions) -> Self {
        Self(spawn_blocking(move || options.connect_sync().map_err(StoreError::unavailable)))
    }

    /// Begins to stage these records, once those before are. While it is done, the next are read.
    async fn take(self, records: Vec<Numbered>) -> Result<Self, StoreError> {
        let staging = self.then(move |mut db| {
            let rows: StagedRows = records.into_iter().collect();
            bulk::insert(rows, &mut db, SYNC).map_err(Failure::from)?;
            Ok(db)
        });
        staging.await.map(Self)
    }

    async fn then<T: Send + 'static>(
        self,
        work: impl FnOnce(AnyConnection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<JoinHandle<Result<T, StoreError>>, StoreError> {
        let db = self.0.await.unwrap_or_else(|stopped| Err(StoreError::unavailable(stopped)))?;
        Ok(spawn_blocking(move || work(db)))
    }
}

type Merged = Result<(Tally, Option<Revision>), apply::UnknownGuild>;

fn merge(db: &mut AnyConnection, replace: &Replace, history: u64) -> Result<Merged, StoreError> {
    Ok(merge_staged(db, replace, history)?)
}

fn merge_staged(db: &mut AnyConnection, replace: &Replace, history: u64) -> Result<Merged, Failure> {
    bulk::prepare_merge(db)?;
    db.begin_writing()?;
    let mut write = Write::new(db, history);
    // Leaving early drops the connection, and the open transaction with it.
    let tally = match apply::apply(&mut write, SYNC, replace)? {
        Ok(tally) => tally,
        Err(unknown) => return Ok(Err(unknown)),
    };
    write.record_noted()?;
    let latest = write.latest();
    if let Some(latest) = latest {
        db.announce(latest)?;
    }
    db.commit()?;
    Ok(Ok((tally, latest)))
}

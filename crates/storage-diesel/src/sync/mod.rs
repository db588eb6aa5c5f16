//! A sync: records are staged beside the data as they come, and then merged in one transaction.
//!
//! So a sync may be longer than memory, and nobody waits for its sender. The merge compares as a whole and writes only
//! what differs. Where the records are staged is the database's affair; tables, merge and statements are the same.

#[cfg(feature = "postgres")]
mod apart;
mod apply;
#[cfg(feature = "postgres")]
mod bulk;
mod key;
mod kinds;
mod merge;
#[cfg(feature = "sqlite")]
mod queued;
#[cfg(feature = "sqlite")]
pub(crate) mod single;
mod slots;
pub(crate) mod staging;

use crate::{database::Database, storage::DieselStorage};
use companion_domain::{
    change::Tally,
    port::{RecordSource, Replace, SyncError},
};

/// How many records are staged at once: enough to be quick, few enough that others hardly wait.
const AT_ONCE: usize = 1000;

/// Takes in all records of the source, and merges them.
pub(crate) async fn run(
    storage: &DieselStorage,
    replace: &Replace,
    source: &mut dyn RecordSource,
) -> Result<Tally, SyncError> {
    match &**storage.database() {
        #[cfg(feature = "sqlite")]
        Database::Sqlite(_) => queued::run(storage, replace, source).await,
        #[cfg(feature = "postgres")]
        Database::Postgres(options) => apart::run(storage, options, replace, source).await,
    }
}

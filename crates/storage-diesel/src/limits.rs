//! Limits that all databases share, with their defaults for a service of any size, and the purpose of a connection.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

pub(crate) const READERS: NonZeroU32 = NonZeroU32::new(8).unwrap();
pub(crate) const MAX_WRITE_WAIT: Duration = Duration::from_secs(2);
/// Capacity of the write queue. Further writes are rejected.
pub(crate) const QUEUE: usize = 4096;
/// Maximum number of writes per commit.
pub(crate) const MAX_BATCH: usize = 256;
/// Minimum number of changes kept in the history.
pub(crate) const HISTORY: u64 = 65_536;
/// Maximum number of syncs that are staged and merged at once.
pub(crate) const SYNCS: NonZeroUsize = NonZeroUsize::new(4).unwrap();
/// Time that a sync waits to start before it is rejected.
pub(crate) const MAX_SYNC_WAIT: Duration = Duration::from_secs(10);

/// The limits that the options of a database set; they document them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) readers: NonZeroU32,
    pub(crate) max_read_wait: Duration,
    pub(crate) max_write_wait: Duration,
    pub(crate) history: u64,
    pub(crate) syncs: NonZeroUsize,
    pub(crate) max_sync_wait: Duration,
    /// Time after which a started read or write is abandoned. `None` if it cannot hang.
    pub(crate) deadline: Option<Duration>,
}

/// The purpose of a connection, which decides its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Short reads, or listening for notifications.
    Read,
    /// One long read.
    Export,
    /// Batches of writes.
    Write,
    /// One sync, or a migration.
    Bulk,
}

//! Limits on the use of a database, and the purpose of a connection.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

/// Capacity of the write queue. Further writes are rejected.
pub(crate) const QUEUE: usize = 4096;
/// Maximum number of writes per commit.
pub(crate) const MAX_BATCH: usize = 256;

/// Limits on the use of a database.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum number of concurrent reads.
    pub readers: NonZeroU32,
    /// Time that a read waits for a connection before it is rejected.
    pub max_read_wait: Duration,
    /// Time that a write waits in the queue before it is rejected, and that the writer waits for writers of other
    /// processes or nodes.
    pub max_write_wait: Duration,
    /// Minimum number of changes kept in the history.
    pub history: u64,
    /// Maximum number of syncs that are staged and merged at once.
    pub syncs: NonZeroUsize,
    /// Time that a sync waits to start before it is rejected.
    pub max_sync_wait: Duration,
}

impl Limits {
    /// Returns limits for a service of any size.
    pub(crate) const fn with_max_read_wait(max_read_wait: Duration) -> Self {
        Self {
            readers: const { NonZeroU32::new(8).unwrap() },
            max_read_wait,
            max_write_wait: Duration::from_secs(2),
            history: 65_536,
            syncs: const { NonZeroUsize::new(4).unwrap() },
            max_sync_wait: Duration::from_secs(10),
        }
    }
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

//! Location of the database, and limits on its use.

use crate::limits::Limits;
use std::{
    num::{NonZeroU32, NonZeroUsize},
    path::PathBuf,
    time::Duration,
};

/// Location of the database, and limits on its use. Start from [`SqliteOptions::new`] and change individual fields.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The file. While it is in use, two more files beside it belong to it.
    pub path: PathBuf,
    /// Whether to create the file if it is missing.
    pub create: bool,
    /// Maximum number of concurrent reads.
    pub readers: NonZeroU32,
    /// Time that a read waits for a connection before it is rejected.
    pub max_read_wait: Duration,
    /// Time that a write waits in the queue before it is rejected, and that the writer waits for writers of other
    /// processes.
    pub max_write_wait: Duration,
    /// Capacity of the write queue. Further writes are rejected.
    pub queue: NonZeroUsize,
    /// Maximum number of writes per commit.
    pub max_batch: NonZeroUsize,
    /// Minimum number of changes kept in the history.
    pub history: u64,
    /// Maximum number of syncs that are staged and merged at once.
    pub syncs: NonZeroUsize,
    /// Time that a sync waits to start before it is rejected.
    pub max_sync_wait: Duration,
    /// Statements that a writing connection runs first, for fault injection in tests.
    #[doc(hidden)]
    pub writer_setup: String,
}

impl SqliteOptions {
    /// Returns options for this file, with defaults for a service of any size.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            create: true,
            readers: const { NonZeroU32::new(8).unwrap() },
            max_read_wait: Duration::from_millis(250),
            max_write_wait: Duration::from_secs(2),
            queue: const { NonZeroUsize::new(4096).unwrap() },
            max_batch: const { NonZeroUsize::new(256).unwrap() },
            history: 65_536,
            syncs: const { NonZeroUsize::new(4).unwrap() },
            max_sync_wait: Duration::from_secs(10),
            writer_setup: String::new(),
        }
    }

    pub(crate) const fn limits(&self) -> Limits {
        Limits {
            readers: self.readers,
            max_read_wait: self.max_read_wait,
            max_write_wait: self.max_write_wait,
            queue: self.queue,
            batch: self.max_batch,
            history: self.history,
            syncs: self.syncs,
            max_sync_wait: self.max_sync_wait,
            deadline: None,
        }
    }
}

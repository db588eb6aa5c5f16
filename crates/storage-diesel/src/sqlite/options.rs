//! Where the database is, and how much it may take.

use crate::limits::Limits;
use std::{
    num::{NonZeroU32, NonZeroUsize},
    path::PathBuf,
    time::Duration,
};

/// Where the database is, and how much it may take. Start from [`SqliteOptions::new`] and change what has to differ.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The file. Two more beside it belong to it while it is in use.
    pub path: PathBuf,
    /// Whether the file is made where there is none.
    pub create: bool,
    /// How many reads can run at once.
    pub readers: NonZeroU32,
    /// How long a read waits for a connection before it is refused.
    pub read_patience: Duration,
    /// How long a write waits in the queue before it is refused, and the writer for another process that is writing.
    pub write_patience: Duration,
    /// How many writes can wait; more are refused.
    pub queue: NonZeroUsize,
    /// How many writes share a commit at most.
    pub gather: NonZeroUsize,
    /// How many changes are remembered at least.
    pub history: u64,
    /// How many syncs can be staged and merged at once.
    pub syncs: NonZeroUsize,
    /// How long a sync waits until it may begin, before it is refused.
    pub sync_patience: Duration,
    /// Statements that a connection that writes starts with, by which tests bring faults about.
    #[doc(hidden)]
    pub writer_setup: String,
}

impl SqliteOptions {
    /// The database in this file, with the settings that fit a service of any size.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            create: true,
            readers: const { NonZeroU32::new(8).unwrap() },
            read_patience: Duration::from_millis(250),
            write_patience: Duration::from_secs(2),
            queue: const { NonZeroUsize::new(4096).unwrap() },
            gather: const { NonZeroUsize::new(256).unwrap() },
            history: 65_536,
            syncs: const { NonZeroUsize::new(4).unwrap() },
            sync_patience: Duration::from_secs(10),
            writer_setup: String::new(),
        }
    }

    pub(crate) const fn limits(&self) -> Limits {
        Limits {
            readers: self.readers,
            read_patience: self.read_patience,
            write_patience: self.write_patience,
            queue: self.queue,
            batch: self.gather,
            history: self.history,
            syncs: self.syncs,
            sync_patience: self.sync_patience,
            deadline: None,
        }
    }
}

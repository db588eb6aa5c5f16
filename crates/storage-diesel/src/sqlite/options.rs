//! Location of the database, and limits on its use.

use super::fault::open_error;
use crate::error::OpenError;
use crate::limits::{HISTORY, Limits, MAX_SYNC_WAIT, MAX_WRITE_WAIT, READERS, SYNCS};
use companion_domain::port::Cause;
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
            readers: READERS,
            max_read_wait: Duration::from_millis(250),
            max_write_wait: MAX_WRITE_WAIT,
            history: HISTORY,
            syncs: SYNCS,
            max_sync_wait: MAX_SYNC_WAIT,
            writer_setup: String::new(),
        }
    }

    /// Converts a failure to open the database to the error shown to the operator.
    pub(crate) fn open_error(&self, cause: impl Into<Cause>) -> OpenError {
        open_error(&self.path, cause)
    }

    pub(crate) const fn limits(&self) -> Limits {
        Limits {
            readers: self.readers,
            max_read_wait: self.max_read_wait,
            max_write_wait: self.max_write_wait,
            history: self.history,
            syncs: self.syncs,
            max_sync_wait: self.max_sync_wait,
            deadline: None,
        }
    }
}

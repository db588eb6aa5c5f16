//! Location of the database, and limits on its use.

use super::fault::open_error;
use crate::{error::OpenError, limits::Limits};
use companion_domain::port::Cause;
use std::{path::PathBuf, time::Duration};

/// Location of the database, and limits on its use. Start from [`SqliteOptions::new`] and change individual fields.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The file. While it is in use, two more files beside it belong to it.
    pub path: PathBuf,
    /// Whether to create the file if it is missing.
    pub create: bool,
    /// Limits on the use of the database.
    pub limits: Limits,
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
            limits: Limits::with_max_read_wait(Duration::from_millis(250)),
            writer_setup: String::new(),
        }
    }

    /// Converts a failure to open the database to the error shown to the operator.
    pub(crate) fn open_error(&self, cause: impl Into<Cause>) -> OpenError {
        open_error(&self.path, cause)
    }
}

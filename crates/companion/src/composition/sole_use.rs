//! Whether another program serves from the same SQLite file.
//!
//! The system keeps the note: a lock on a key file beside the database, which goes with the process however that ends. The
//! database itself is not locked, since closing it once more would end SQLite's own locks. Commands take no note: they may work
//! beside a service.

use crate::configuration::StorageUrl;
use std::{fs::File, path::PathBuf};

/// A note that this process serves, for as long as it lives.
#[derive(Debug)]
pub struct SoleUse {
    _note: Option<File>,
    shared: bool,
}

impl SoleUse {
    /// Takes the note on the first of these files that is there. Where none is, nothing can be told.
    #[must_use]
    pub fn claim(url: &StorageUrl, beside: &[PathBuf]) -> Self {
        let open = |file: &PathBuf| File::open(file).ok();
        let note = match url {
            StorageUrl::Sqlite(_) => beside.iter().find_map(open),
            StorageUrl::Postgres(_) | StorageUrl::Memory => None,
        };
        let shared = note.as_ref().is_some_and(is_taken);
        Self { _note: note, shared }
    }

    /// Whether another process had the note.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        self.shared
    }
}

/// Elsewhere a lock would keep others from reading the key.
#[cfg(unix)]
fn is_taken(file: &File) -> bool {
    matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock))
}

#[cfg(not(unix))]
const fn is_taken(_: &File) -> bool {
    false
}

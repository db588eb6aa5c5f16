//! A database file of its own for each test.

use companion_storage_diesel::{DieselStorage, SqliteOptions};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder that goes away with the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.path().join("companion.db")
    }

    pub(crate) fn options(&self) -> SqliteOptions {
        SqliteOptions::new(self.file())
    }

    pub(crate) async fn open(&self) -> DieselStorage {
        DieselStorage::open(self.options()).await.unwrap()
    }
}

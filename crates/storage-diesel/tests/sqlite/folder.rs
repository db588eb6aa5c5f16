//! A database file of its own for each test.

use companion_storage_diesel::{DieselStorage, SqliteOptions};
use diesel::{Connection, SqliteConnection, connection::SimpleConnection};
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

    /// Runs statements on a connection beside those of the storage.
    pub(crate) fn run(&self, statements: &str) {
        let mut connection = SqliteConnection::establish(self.file().to_str().unwrap()).unwrap();
        connection.batch_execute(statements).unwrap();
    }

    /// Bytes as these statements have them.
    pub(crate) fn bytes(hex: &str) -> String {
        format!("X'{hex}'")
    }

    pub(crate) async fn open(&self) -> DieselStorage {
        DieselStorage::open(self.options()).await.unwrap()
    }
}

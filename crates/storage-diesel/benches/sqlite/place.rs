//! A database file of its own for each measurement.

use companion_storage_diesel::{DieselStorage, SqliteOptions};
use diesel::{Connection, SqliteConnection, connection::SimpleConnection};
use std::num::NonZeroUsize;
use tempfile::TempDir;

/// A connection without anything of the storage.
pub(crate) type Plain = SqliteConnection;

/// A folder that goes away with the measurement.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn options(&self) -> SqliteOptions {
        SqliteOptions::new(self.0.path().join("companion.db"))
    }

    pub(crate) async fn open(&self) -> DieselStorage {
        DieselStorage::open(self.options()).await.unwrap()
    }

    /// The same with at most so many writes in one commit.
    pub(crate) async fn open_gathering(&self, gather: usize) -> DieselStorage {
        let options = SqliteOptions { gather: NonZeroUsize::new(gather).unwrap(), ..self.options() };
        DieselStorage::open(options).await.unwrap()
    }

    /// A durable connection to a database with all tables.
    pub(crate) fn plain(&self) -> Plain {
        self.options().migrate().unwrap();
        let mut connection = Plain::establish(self.options().path.to_str().unwrap()).unwrap();
        connection.batch_execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON").unwrap();
        connection
    }
}

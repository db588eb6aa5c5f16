//! A separate database for each measurement.

use companion_domain::model::Secret;
use companion_storage_diesel::{DieselStorage, PostgresOptions, SqliteOptions};
use diesel::{Connection, PgConnection, SqliteConnection, connection::SimpleConnection};
use std::{
    num::NonZeroUsize,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};
use tempfile::TempDir;

/// The database to measure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Database {
    Sqlite,
    Postgres,
}

/// Returns the address of the server, if there is one.
pub(crate) fn server() -> Option<String> {
    std::env::var(xtask::postgres::VARIABLE).ok()
}

/// A file or schema that is removed after the measurement.
pub(crate) enum Place {
    Folder(TempDir),
    Schema { server: String, name: String },
}

/// A connection without the storage.
pub(crate) enum Plain {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Place {
    pub(crate) fn new(database: Database) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        if database == Database::Sqlite {
            return Self::Folder(tempfile::tempdir().unwrap());
        }
        let name = format!("bench_{}_{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let server = server().unwrap();
        run(&server, &format!("CREATE SCHEMA {name}"));
        Self::Schema { server, name }
    }

    pub(crate) async fn open(&self) -> DieselStorage {
        match self {
            Self::Folder(folder) => DieselStorage::open(sqlite(folder)).await.unwrap(),
            Self::Schema { server, name } => {
                DieselStorage::open_postgres(postgres(server, name)).await.unwrap()
            }
        }
    }

    /// Opens the storage with at most this many writes per commit.
    pub(crate) async fn open_with_batch(&self, max_batch: usize) -> DieselStorage {
        let max_batch = NonZeroUsize::new(max_batch).unwrap();
        match self {
            Self::Folder(folder) => {
                DieselStorage::open(SqliteOptions { max_batch, ..sqlite(folder) }).await.unwrap()
            }
            Self::Schema { server, name } => {
                let options = PostgresOptions { max_batch, ..postgres(server, name) };
                DieselStorage::open_postgres(options).await.unwrap()
            }
        }
    }

    /// Opens a durable connection to a database with all tables.
    pub(crate) fn plain(&self) -> Plain {
        match self {
            Self::Folder(folder) => {
                let options = sqlite(folder);
                options.migrate().unwrap();
                let mut connection = SqliteConnection::establish(options.path.to_str().unwrap()).unwrap();
                connection.batch_execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON").unwrap();
                Plain::Sqlite(connection)
            }
            Self::Schema { server, name } => {
                postgres(server, name).migrate().unwrap();
                Plain::Postgres(PgConnection::establish(&url(server, name)).unwrap())
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Self::Schema { server, name } = self {
            run(server, &format!("SET client_min_messages = warning; DROP SCHEMA {name} CASCADE"));
        }
    }
}

fn run(server: &str, statement: &str) {
    PgConnection::establish(server).unwrap().batch_execute(statement).unwrap();
}

fn sqlite(folder: &TempDir) -> SqliteOptions {
    SqliteOptions::new(folder.path().join("companion.db"))
}

fn postgres(server: &str, schema: &str) -> PostgresOptions {
    PostgresOptions::new(Secret::new(url(server, schema)))
}

fn url(server: &str, schema: &str) -> String {
    let more = if server.contains('?') { '&' } else { '?' };
    format!("{server}{more}options=-csearch_path%3D{schema}")
}

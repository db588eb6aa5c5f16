//! A separate database for the measurement.

use companion_domain::model::Secret;
use companion_storage_diesel::{DieselStorage, PostgresOptions, SqliteOptions};
use diesel::{Connection, PgConnection, connection::SimpleConnection};
use tempfile::TempDir;

/// A file or schema that is removed after the measurement.
pub(crate) enum Place {
    Folder(TempDir),
    Schema { server: String, name: String },
}

impl Place {
    /// Creates a schema on the server, if there is one.
    pub(crate) fn schema() -> Option<Self> {
        let server = std::env::var(xtask::postgres::VARIABLE).ok()?;
        let name = format!("bench_{}", std::process::id());
        run(&server, &format!("CREATE SCHEMA {name}"));
        Some(Self::Schema { server, name })
    }

    pub(crate) async fn open(&self) -> DieselStorage {
        match self {
            Self::Folder(folder) => {
                DieselStorage::open(SqliteOptions::new(folder.path().join("companion.db"))).await.unwrap()
            }
            Self::Schema { server, name } => {
                let more = if server.contains('?') { '&' } else { '?' };
                let url = format!("{server}{more}options=-csearch_path%3D{name}");
                DieselStorage::open_postgres(PostgresOptions::new(Secret::new(url))).await.unwrap()
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

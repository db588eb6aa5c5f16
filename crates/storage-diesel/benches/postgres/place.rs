//! A schema of its own for each measurement.

use companion_domain::model::Secret;
use companion_storage_diesel::{DieselStorage, PostgresOptions};
use diesel::{Connection, PgConnection, connection::SimpleConnection};
use std::{
    num::NonZeroUsize,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

/// A connection without anything of the storage.
pub(crate) type Plain = PgConnection;

/// The address of the server, where there is one.
pub(crate) fn server() -> Option<String> {
    std::env::var(xtask::postgres::VARIABLE).ok()
}

/// A schema that goes away with the measurement.
pub(crate) struct Place {
    server: String,
    schema: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let schema = format!("bench_{}_{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let place = Self { server: server().unwrap(), schema };
        place.outside(&format!("CREATE SCHEMA {}", place.schema));
        place
    }

    fn outside(&self, statement: &str) {
        PgConnection::establish(&self.server).unwrap().batch_execute(statement).unwrap();
    }

    fn url(&self) -> String {
        let more = if self.server.contains('?') { '&' } else { '?' };
        format!("{}{more}options=-csearch_path%3D{}", self.server, self.schema)
    }

    fn options(&self) -> PostgresOptions {
        PostgresOptions::new(Secret::new(self.url()))
    }

    pub(crate) async fn open(&self) -> DieselStorage {
        DieselStorage::open_postgres(self.options()).await.unwrap()
    }

    /// The same with at most so many writes in one commit.
    pub(crate) async fn open_gathering(&self, gather: usize) -> DieselStorage {
        let options = PostgresOptions { gather: NonZeroUsize::new(gather).unwrap(), ..self.options() };
        DieselStorage::open_postgres(options).await.unwrap()
    }

    /// A connection to a database with all tables.
    pub(crate) fn plain(&self) -> Plain {
        self.options().migrate().unwrap();
        Plain::establish(&self.url()).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.outside(&format!("SET client_min_messages = warning; DROP SCHEMA {} CASCADE", self.schema));
    }
}

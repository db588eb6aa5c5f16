//! An empty database for a test.

use super::psql::psql;
use std::{
    process,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};
use url::Url;
use xtask::postgres::{Cluster, VARIABLE};

/// A database that goes away with the test: on the server that tests share, or on one of its own.
pub(crate) struct Database {
    server: Url,
    name: String,
    own: Option<Cluster>,
}

impl Database {
    pub(crate) fn new() -> Self {
        match std::env::var(VARIABLE) {
            Ok(shared) if !shared.is_empty() => Self::on(&shared, None),
            _ => Self::alone(),
        }
    }

    /// On a server of its own, for a test that the others would notice.
    pub(crate) fn alone() -> Self {
        let cluster = Cluster::start().unwrap();
        Self::on(&cluster.url("postgres"), Some(cluster))
    }

    fn on(server: &str, own: Option<Cluster>) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let name = format!("companion_program_{}_{}", process::id(), NEXT.fetch_add(1, Relaxed));
        // An earlier process of the same number may have been killed.
        psql(server, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        psql(server, &format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'"));
        Self { server: Url::parse(server).unwrap(), name, own }
    }

    pub(crate) fn url(&self) -> String {
        let mut url = self.server.clone();
        url.set_path(&self.name);
        url.into()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.own.is_none() && !std::thread::panicking() {
            psql(self.server.as_str(), &format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}

//! Measures how long other requests wait while 600,000 guilds are synced.
//!
//! `cargo bench -p companion-storage-diesel` measures SQLite. With `-- postgres` it measures a server, which
//! `cargo xtask postgres --durable` starts. SQLite writes to the folder for temporary files; set `TMPDIR` to measure
//! another disk.
#![expect(clippy::print_stdout, reason = "tables are what this program is for")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on says where")]

mod sample;
mod waits;

use companion_domain::model::Secret;
use companion_storage_diesel::{DieselStorage, PostgresOptions, SqliteOptions};
use diesel::{Connection, PgConnection, connection::SimpleConnection};

#[tokio::main]
async fn main() {
    if std::env::args().any(|argument| argument == "postgres") {
        on_server().await;
    } else {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("companion.db");
        waits::run(DieselStorage::open(SqliteOptions::new(file)).await.unwrap()).await;
    }
}

/// Measures a server, in a schema of its own.
async fn on_server() {
    let Ok(server) = std::env::var(xtask::postgres::VARIABLE) else {
        println!("{} is not set: run this within `cargo xtask postgres`", xtask::postgres::VARIABLE);
        return;
    };
    let run = |statement: &str| PgConnection::establish(&server).unwrap().batch_execute(statement).unwrap();
    let schema = format!("bench_{}", std::process::id());
    run(&format!("CREATE SCHEMA {schema}"));
    let more = if server.contains('?') { '&' } else { '?' };
    let url = Secret::new(format!("{server}{more}options=-csearch_path%3D{schema}"));
    waits::run(DieselStorage::open_postgres(PostgresOptions::new(url)).await.unwrap()).await;
    run(&format!("SET client_min_messages = warning; DROP SCHEMA {schema} CASCADE"));
}

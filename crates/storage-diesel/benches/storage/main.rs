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

#[tokio::main]
async fn main() {
    if !std::env::args().any(|argument| argument == "postgres") {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("companion.db");
        waits::run(DieselStorage::open(SqliteOptions::new(file)).await.unwrap()).await;
    } else if let Ok(server) = std::env::var(xtask::postgres::VARIABLE) {
        let options = PostgresOptions::new(Secret::new(server));
        waits::run(DieselStorage::open_postgres(options).await.unwrap()).await;
    } else {
        println!("{} is not set: run this within `cargo xtask postgres`", xtask::postgres::VARIABLE);
    }
}

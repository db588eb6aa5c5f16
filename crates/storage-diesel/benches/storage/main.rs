//! Benchmarks of the databases: durable sign-ins, picking feedback, and a whole sync.
//!
//! `cargo bench -p companion-storage-diesel` measures SQLite in about a minute. With `-- postgres` it measures a
//! server, which `cargo xtask postgres --durable` starts. `--full` adds a million feedback entries, and the wait of
//! other requests while 600,000 guilds are synced. The name of a table (`sign-ins`, `feedback`, `sync`, `waits`)
//! selects that table. SQLite writes to the folder for temporary files; set `TMPDIR` to measure another disk.
#![expect(clippy::print_stdout, reason = "tables are what this program is for")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on says where")]

mod feedback;
mod place;
mod sample;
mod sign_ins;
mod sync;
mod waits;

use self::place::{Database, server};

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let named = |word: &str| arguments.iter().any(|argument| argument == word);
    let database = if named("postgres") { Database::Postgres } else { Database::Sqlite };
    if database == Database::Postgres && server().is_none() {
        let variable = xtask::postgres::VARIABLE;
        println!(
            "{variable} is not set, so there is no server to measure: run this within `cargo xtask postgres`"
        );
        return;
    }
    let all = !["sign-ins", "feedback", "sync", "waits"].into_iter().any(named);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        if all || named("sign-ins") {
            sign_ins::run(database).await;
        }
        if all || named("feedback") {
            feedback::run(database, named("--full")).await;
        }
        if all || named("sync") {
            sync::run(database).await;
        }
        if (all && named("--full")) || named("waits") {
            waits::run(database).await;
        }
    });
}

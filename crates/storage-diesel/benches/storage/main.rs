//! Measures how long other requests wait while 600,000 guilds are synced.
//!
//! `cargo bench -p companion-storage-diesel` measures SQLite. With `-- postgres` it measures a server, which
//! `cargo xtask postgres --durable` starts. SQLite writes to the folder for temporary files; set `TMPDIR` to measure
//! another disk.
#![expect(clippy::print_stdout, reason = "tables are what this program is for")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on says where")]

mod place;
mod sample;
mod waits;

use self::place::Place;

fn main() {
    let place = if std::env::args().any(|argument| argument == "postgres") {
        let Some(schema) = Place::schema() else {
            let variable = xtask::postgres::VARIABLE;
            println!("{variable} is not set: run this within `cargo xtask postgres`");
            return;
        };
        schema
    } else {
        Place::Folder(tempfile::tempdir().unwrap())
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(waits::run(&place));
}

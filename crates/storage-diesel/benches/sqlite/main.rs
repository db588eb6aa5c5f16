//! How quick SQLite is: durable sign-ins, picking feedback, and a whole sync.
//!
//! `cargo bench -p companion-storage-diesel --bench sqlite` takes about a minute. Add `-- --full` for a million entries
//! of feedback and for how long others wait while 600,000 guilds are synced, and the name of a table (`sign-ins`,
//! `feedback`, `sync`, `waits`) for that table alone. The database is written to the folder for temporary files; set
//! `TMPDIR` to measure another disk.
#![expect(clippy::print_stdout, reason = "tables are what this program is for")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on says where")]

mod place;
#[path = "../tables/mod.rs"]
mod tables;

fn main() {
    tables::print();
}

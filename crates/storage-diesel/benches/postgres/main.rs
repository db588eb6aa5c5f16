//! How quick PostgreSQL is: the same tables as for SQLite.
//!
//! `cargo xtask postgres` starts a durable server and says what to set `COMPANION_TEST_POSTGRES` to; then
//! `cargo bench -p companion-storage-diesel --bench postgres` takes a few minutes. The arguments are those of the bench
//! `sqlite`. What is measured depends on the server's disk, and on the network between.
#![expect(clippy::print_stdout, reason = "tables are what this program is for")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on says where")]

mod place;
#[path = "../tables/mod.rs"]
mod tables;

fn main() {
    if place::server().is_none() {
        println!(
            "{} is not set, so there is no server to measure: `cargo xtask postgres` starts one and says what to set",
            xtask::postgres::VARIABLE
        );
        return;
    }
    tables::print();
}

//! How quick SQLite is: durable sign-ins, picking feedback, and a whole sync.
//!
//! `cargo bench -p companion-storage-diesel --bench sqlite` takes about a minute. Add `-- --full` for a million entries
//! of feedback, and the name of a table (`sign-ins`, `feedback`, `sync`) for that table alone. The database is written
//! to the folder for temporary files; set `TMPDIR` to measure another disk.
#![expect(clippy::print_stdout, reason = "tables are what this program is for")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on says where")]

mod feedback;
mod sample;
mod sign_ins;
mod sync;

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let full = arguments.iter().any(|argument| argument == "--full");
    let tables = ["sign-ins", "feedback", "sync"];
    let named = |table: &str| arguments.iter().any(|argument| argument == table);
    let all = !tables.iter().any(|table| named(table));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        if all || named("sign-ins") {
            sign_ins::run().await;
        }
        if all || named("feedback") {
            feedback::run(full).await;
        }
        if all || named("sync") {
            sync::run().await;
        }
    });
}

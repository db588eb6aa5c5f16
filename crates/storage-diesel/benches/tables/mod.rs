//! What is measured, whichever database it is. Each program brings a [`Place`](crate::place::Place) of its own.

mod feedback;
mod sample;
mod sign_ins;
mod sync;
mod waits;

/// Prints the tables that the command line names, or all.
pub(crate) fn print() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let full = arguments.iter().any(|argument| argument == "--full");
    let tables = ["sign-ins", "feedback", "sync", "waits"];
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
        if (all && full) || named("waits") {
            waits::run().await;
        }
    });
}

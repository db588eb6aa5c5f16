//! Signing in, as the whole program does it: over real sockets, on a SQLite file, against a real OAuth 2.0 provider that
//! fails as it is told.
//!
//! Each test runs one service or more in this process and prints what it measured.

mod bad_codes;
mod canaries;
mod closed_gate;
mod faults;
mod junk_codes;
mod one_code;
mod scopes;
mod stage;

use tokio::sync::{Mutex, MutexGuard};

/// Holds back the other tests of this folder, where they share a process: each fills both cores and measures.
async fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}

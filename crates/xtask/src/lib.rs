//! What other crates' tests use: a temporary PostgreSQL server, and the names of browsers.
//!
//! It depends on no other crate of the workspace, and others use it only as a dev-dependency. The tasks themselves are
//! the program `xtask`. To offer more, add a module here, and list the crates that may use it in
//! `architecture/crates.rs`.

pub mod postgres;

use std::path::PathBuf;

/// Browsers for tests of pages, fastest first: the headless shell takes half of the CPU time of Chromium.
pub const BROWSERS: [&str; 5] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"];

/// The variable with the folder for temporary files, which `tempfile` and the programs started by tests read.
pub const TMPDIR: &str = "TMPDIR";

/// Free space that is required in memory, in bytes. Four parallel tests, some with their own PostgreSQL server, need
/// much less.
const REQUIRED_BYTES: u64 = 4 << 30;

/// Returns the folder for the files of tests: `/dev/shm` if it has room, else the system's default. No test checks
/// durability against power failures, so none needs to wait for a disk. `TMPDIR` overrides it.
#[must_use]
pub fn scratch_folder() -> PathBuf {
    let has_room = rustix::fs::statvfs("/dev/shm")
        .is_ok_and(|system| system.f_bavail.saturating_mul(system.f_frsize) >= REQUIRED_BYTES);
    if has_room && std::env::var_os(TMPDIR).is_none() { "/dev/shm".into() } else { std::env::temp_dir() }
}

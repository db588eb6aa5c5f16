//! What other crates' tests use: a temporary PostgreSQL server, a folder in memory, and the names of browsers.
//!
//! It depends on no other crate of the workspace, and others use it only as a dev-dependency. The tasks themselves are
//! the program `xtask`. To offer more, add a module here, and list the crates that may use it in
//! `architecture/table.rs`.

pub mod postgres;
pub mod scratch;

/// Browsers for tests of pages, fastest first: the headless shell takes half of the CPU time of Chromium.
pub const BROWSERS: [&str; 5] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"];

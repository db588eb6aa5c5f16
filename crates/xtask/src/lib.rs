//! What other crates' tests use: a temporary PostgreSQL server, and a folder in memory.
//!
//! It depends on no other crate of the workspace, and others use it only as a dev-dependency. The tasks themselves are
//! the program `xtask`. To offer more, add a module here, and list the crates that may use it in
//! `architecture/table.rs`.

pub mod postgres;
pub mod scratch;

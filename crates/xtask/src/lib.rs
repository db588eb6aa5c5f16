//! What the chores have to offer to the tests of other crates: a PostgreSQL server of their own, and a folder in
//! memory.
//!
//! It uses no other crate of the workspace, and no crate has it but as a dev-dependency. The chores themselves are the
//! program `xtask`. To offer something more: a module here, and in `architecture/table.rs` the crates that may use it.

pub mod postgres;
pub mod scratch;

//! What is particular to PostgreSQL: the server, its sessions, its migrations, its announcements and its way of saying
//! what is wrong.

mod address;
pub(crate) mod announcement;
pub(crate) mod connect;
pub(crate) mod fault;
pub(crate) mod migration;
mod options;
#[cfg(test)]
mod step_test;

pub use self::{address::AddressFlaw, options::PostgresOptions};

/// Begins a transaction that writes. The one row of the history is the lock that lets writers pass one after another,
/// over all nodes; each statement after it sees what the writer before committed.
pub(crate) const BEGIN_WRITING: &str =
    "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT id FROM history FOR UPDATE";

/// Begins a transaction whose reads all see the same moment.
pub(crate) const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

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

use crate::connection::Access;

macro_rules! begin {
    ($($lock:literal),+) => { concat!("BEGIN ISOLATION LEVEL READ COMMITTED", $("; SELECT ", $lock),+) };
    (world $($lock:literal),*) => {
        begin!("pg_advisory_xact_lock(1129270094, hashtext(current_schema()))" $(, $lock)*)
    };
}

/// Begins a transaction that writes, with the locks that let writers pass one after another, over all nodes. Each
/// statement after it sees what the writer before committed.
///
/// The one row of the history is a lock that every writer holds when it commits, so revisions have no holes and are
/// committed in their order. Whoever changes the world holds another one too, and took it first. A sync holds only that
/// while it writes, and meets the others at the history when it is done.
pub(crate) const fn begin_writing(access: Access) -> &'static str {
    match access {
        Access::All => begin!(world "id FROM history FOR UPDATE"),
        Access::Urgent => begin!("id FROM history FOR UPDATE"),
        Access::World => begin!(world),
    }
}

/// Begins a transaction whose reads all see the same moment.
pub(crate) const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

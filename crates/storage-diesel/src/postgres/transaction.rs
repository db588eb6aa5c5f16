//! How transactions begin.
//!
//! Each that writes takes the locks that let writers pass one after another, over all nodes; each statement after it sees
//! what the writer before committed. The one row of the history is a lock that every writer holds when it commits, so
//! revisions have no holes and are committed in their order. Whoever changes the world holds another one too, and took it
//! first. A bulk write of the world holds only that while it writes, and meets the others at the history when it is done.

macro_rules! begin {
    ($($lock:literal),+) => { concat!("BEGIN ISOLATION LEVEL READ COMMITTED", $("; SELECT ", $lock),+) };
    (world $($lock:literal),*) => {
        begin!("pg_advisory_xact_lock(1129270094, hashtext(current_schema()))" $(, $lock)*)
    };
}

pub(crate) const BEGIN_ALL: &str = begin!(world "id FROM history FOR UPDATE");
/// Writes what waits for no bulk write of the world.
pub(crate) const BEGIN_URGENT: &str = begin!("id FROM history FOR UPDATE");
/// Writes the world, and at the very end the history.
pub(crate) const BEGIN_WORLD: &str = begin!(world);
/// What is read at random comes from memory, so that it costs less than reading on.
pub(crate) const ASSUME_CACHED: &str = "SET LOCAL random_page_cost = 0.1";
/// Reads, all as of the same moment.
pub(crate) const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

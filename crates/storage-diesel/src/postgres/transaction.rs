//! How transactions begin.
//!
//! Every writing transaction takes locks that serialise writers across nodes. Each later statement sees what the
//! previous writer committed. The single row of the history is locked by every writer when it commits, so revisions are
//! gap-free and committed in order. A transaction that changes the world takes the world lock first. A bulk write of
//! the world holds only the world lock while it writes, and locks the history just before it commits.

macro_rules! begin {
    ($($lock:literal),+) => { concat!("BEGIN ISOLATION LEVEL READ COMMITTED", $("; SELECT ", $lock),+) };
    (world $($lock:literal),*) => {
        begin!("pg_advisory_xact_lock(1129270094, hashtext(current_schema()))" $(, $lock)*)
    };
}

/// Serialises nodes that check and migrate the schema. Each schema of a database has its own lock.
pub(crate) const BEGIN_MIGRATION: &str =
    begin!("pg_advisory_xact_lock(1129270093, hashtext(current_schema()))");
pub(crate) const BEGIN_ALL: &str = begin!(world "id FROM history FOR UPDATE");
/// For writes that do not wait for a bulk write of the world.
pub(crate) const BEGIN_URGENT: &str = begin!("id FROM history FOR UPDATE");
/// For a write of the world. It locks the history just before the commit.
pub(crate) const BEGIN_WORLD: &str = begin!(world);
/// Random reads are served from memory, so they cost less than a sequential scan.
pub(crate) const ASSUME_CACHED: &str = "SET LOCAL random_page_cost = 0.1";
/// For reads on one snapshot.
pub(crate) const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

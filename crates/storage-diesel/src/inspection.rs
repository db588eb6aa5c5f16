//! The result of inspecting a database read-only: neither its tables nor its files change.

use companion_domain::{
    model::{Timestamp, UserId},
    port::Sealed,
};
use diesel::sql_types::{BigInt, Binary};
use std::time::Duration;

/// What an inspection found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// Names of the migrations that are not applied yet.
    pub pending: Vec<String>,
    /// Number of applied migrations.
    pub applied: usize,
    /// Time of the last cluster report. `None` if there is none or the schema is incomplete.
    pub last_report: Option<Timestamp>,
    /// Duration of a write that was rolled back. `None` if a write cannot be tried without leaving a trace.
    pub write: Option<Duration>,
    /// Sealed tokens of the users who signed in last. Empty if the schema is incomplete.
    pub sealed: Vec<(UserId, Sealed)>,
}

/// Time of the last cluster report, in SQL that all databases share.
pub(crate) const LAST_REPORT: &str = "SELECT max(received_at) FROM clusters";

/// The SQL type of [`NEWEST_SEALED`].
pub(crate) type SealedColumns = (BigInt, Binary);

/// Sealed tokens of the users who signed in last, in SQL that all databases share. They show whether a key is the right
/// one.
pub(crate) const NEWEST_SEALED: &str = "SELECT grants.user_id, grants.tokens
    FROM (SELECT user_id, created_at FROM sessions ORDER BY created_at DESC LIMIT 1000) AS newest
    JOIN grants ON grants.user_id = newest.user_id WHERE grants.tokens IS NOT NULL
    ORDER BY newest.created_at DESC LIMIT 20";

/// Converts rows of [`NEWEST_SEALED`] that hold a valid user id, and skips the others.
pub(crate) fn sealed(rows: Vec<(i64, Vec<u8>)>) -> Vec<(UserId, Sealed)> {
    let value = |(user, tokens): (i64, Vec<u8>)| {
        Some((UserId::new(user.cast_unsigned()).ok()?, Sealed::from_bytes(tokens)))
    };
    rows.into_iter().filter_map(value).collect()
}

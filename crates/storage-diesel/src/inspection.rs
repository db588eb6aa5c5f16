//! The result of inspecting a database read-only: neither its tables nor its files change.

use companion_domain::{
    model::{Timestamp, UserId},
    port::Sealed,
};
use diesel::{
    QueryableByName,
    sql_types::{BigInt, Binary},
};
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

/// Sealed tokens of the users who signed in last, in SQL that all databases share. They show whether a key is the right
/// one.
pub(crate) const NEWEST_SEALED: &str = "SELECT grants.user_id, grants.tokens
    FROM (SELECT user_id, created_at FROM sessions ORDER BY created_at DESC LIMIT 1000) AS newest
    JOIN grants ON grants.user_id = newest.user_id WHERE grants.tokens IS NOT NULL
    ORDER BY newest.created_at DESC LIMIT 20";

#[derive(QueryableByName)]
pub(crate) struct SealedRow {
    #[diesel(sql_type = BigInt)]
    user_id: i64,
    #[diesel(sql_type = Binary)]
    tokens: Vec<u8>,
}

impl SealedRow {
    /// Converts the rows that hold a valid user id, and skips the others.
    pub(crate) fn values(rows: Vec<Self>) -> Vec<(UserId, Sealed)> {
        let user = |row: &Self| UserId::new(row.user_id.cast_unsigned()).ok();
        let value = |row: Self| Some((user(&row)?, Sealed::from_bytes(row.tokens)));
        rows.into_iter().filter_map(value).collect()
    }
}

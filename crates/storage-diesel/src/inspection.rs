//! What can be told of a database without changing anything: neither its tables, nor the files around it.

use companion_domain::{
    model::{Timestamp, UserId},
    port::Sealed,
};
use diesel::{
    QueryableByName,
    sql_types::{BigInt, Binary},
};
use std::time::Duration;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The names of the steps that the schema still lacks.
    pub pending: Vec<String>,
    /// How many steps it has.
    pub applied: usize,
    /// When a cluster of the bot reported last, where one did and the schema is complete.
    pub last_report: Option<Timestamp>,
    /// How long a write took that was taken back; nothing where none can be tried without leaving a trace.
    pub write: Option<Duration>,
    /// The sealed tokens of users who signed in last, if the schema is complete.
    pub sealed: Vec<(UserId, Sealed)>,
}

/// When a cluster reported last, in every database's words.
pub(crate) const LAST_REPORT: &str = "SELECT max(received_at) FROM clusters";

/// The sealed tokens of users who signed in last, in every database's words. They show whether a key is the right one.
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
    /// The tokens of those rows that name a user.
    pub(crate) fn values(rows: Vec<Self>) -> Vec<(UserId, Sealed)> {
        let user = |row: &Self| UserId::new(row.user_id.cast_unsigned()).ok();
        let value = |row: Self| Some((user(&row)?, Sealed::from_bytes(row.tokens)));
        rows.into_iter().filter_map(value).collect()
    }
}

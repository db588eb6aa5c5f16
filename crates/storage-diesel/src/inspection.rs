//! What can be told of a database without changing anything: neither its tables, nor the files around it.

use companion_domain::model::Timestamp;
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
}

/// When a cluster reported last, in every database's words.
pub(crate) const LAST_REPORT: &str = "SELECT max(received_at) FROM clusters";

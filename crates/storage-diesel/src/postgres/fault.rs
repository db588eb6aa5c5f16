//! Classifies PostgreSQL's error messages. Diesel exposes neither the codes of failed connections nor most others.

use super::address::{Address, INVALID_ADDRESS, on_one_line};
use crate::error::OpenError;
use companion_domain::port::Cause;

/// Returns whether a retry cannot help: the tables are not those of this program.
pub(crate) fn means_damage(message: &str) -> bool {
    ["relation ", "column "].iter().any(|start| message.starts_with(start))
        && message.ends_with("does not exist")
}

/// Returns whether the message reports contention that lasted too long.
pub(crate) fn means_busy(message: &str) -> bool {
    ["due to lock timeout", "due to statement timeout", "deadlock detected"]
        .iter()
        .any(|words| message.contains(words))
}

/// Classifies an error of opening a database by its message, which the `cause` may repeat without secrets.
pub(super) fn classify(message: &str, address: &Address, cause: Cause) -> OpenError {
    let message = on_one_line(message);
    let says = |words: &[&str]| words.iter().any(|words| message.contains(words));
    let database = address.to_string();
    if says(&[INVALID_ADDRESS, "://", "connection option", "invalid URI query parameter"]) {
        OpenError::Address
    } else if says(&["SSL support is not compiled in"]) {
        OpenError::TlsMissing(database)
    } else if says(&["FATAL: database"]) && says(&["does not exist"]) {
        OpenError::NoDatabase(database, cause)
    } else if says(&[
        "authentication failed",
        "FATAL: role",
        "no password supplied",
        "no pg_hba.conf entry",
        "permission denied for database",
    ]) {
        OpenError::LoginRefused(database, cause)
    } else if says(&["permission denied", "no schema has been selected"]) {
        OpenError::Forbidden(database, cause)
    } else if says(&["lock timeout"]) {
        OpenError::Migrating(database, cause)
    } else {
        OpenError::Unreachable(database, cause)
    }
}

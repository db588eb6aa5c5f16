//! What PostgreSQL's words mean. Diesel hands on neither the codes of failed connections nor most others.

use super::address::{Address, INVALID_ADDRESS, on_one_line};
use crate::error::OpenError;
use companion_domain::port::Cause;

/// Whether trying again cannot help: the tables are not ours.
pub(crate) fn means_damage(message: &str) -> bool {
    ["relation ", "column "].iter().any(|start| message.starts_with(start))
        && message.ends_with("does not exist")
}

/// Whether others were busy for too long.
pub(crate) fn means_busy(message: &str) -> bool {
    ["due to lock timeout", "due to statement timeout", "deadlock detected"]
        .iter()
        .any(|words| message.contains(words))
}

/// Why a database could not be put to use, told by what the server says.
pub(crate) fn open_error(address: &Address, cause: impl Into<Cause>) -> OpenError {
    let cause = cause.into();
    told_by(&cause.to_string(), address, cause)
}

/// The same where the message must not be shown as it is.
pub(crate) fn told_by(message: &str, address: &Address, cause: Cause) -> OpenError {
    let message = on_one_line(message);
    let says = |words: &[&str]| words.iter().any(|words| message.contains(words));
    let database = address.to_string();
    if says(&[INVALID_ADDRESS, "://", "connection option", "invalid URI query parameter"]) {
        OpenError::Address
    } else if says(&["SSL support is not compiled in"]) {
        OpenError::TlsMissing { database }
    } else if says(&["FATAL: database"]) && says(&["does not exist"]) {
        OpenError::NoDatabase { database, cause }
    } else if says(&[
        "authentication failed",
        "FATAL: role",
        "no password supplied",
        "no pg_hba.conf entry",
        "permission denied for database",
    ]) {
        OpenError::LoginRefused { database, cause }
    } else if says(&["permission denied", "no schema has been selected"]) {
        OpenError::Forbidden { database, cause }
    } else if says(&["lock timeout"]) {
        OpenError::Migrating { database, cause }
    } else {
        OpenError::Unreachable { database, cause }
    }
}

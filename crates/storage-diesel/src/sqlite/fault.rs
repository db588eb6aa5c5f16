//! Classifies SQLite's error messages. Diesel exposes no codes, and these texts have not changed in twenty years.

use crate::error::OpenError;
use companion_domain::port::Cause;
use std::path::Path;

/// Returns whether a retry cannot help: the file is not a database, or its tables are not those of this program.
pub(crate) fn means_damage(message: &str) -> bool {
    ["not a database", "no such table", "no such column", "already exists"]
        .iter()
        .any(|words| message.contains(words))
}

/// Returns whether the file must be checked completely before it is trusted again.
pub(super) fn means_damaged_file(message: &str) -> bool {
    ["disk image is malformed", "malformed database schema", "not a database"]
        .iter()
        .any(|words| message.contains(words))
}

/// Returns whether the message reports contention that lasted too long.
pub(crate) fn means_busy(message: &str) -> bool {
    message.contains("is locked")
}

/// Returns whether a write may be missing on disk, even if later syncs succeed.
pub(crate) fn means_failed_sync(message: &str) -> bool {
    message.contains("disk I/O error")
}

/// Classifies an error of opening a database by its message.
pub(crate) fn open_error(path: &Path, cause: impl Into<Cause>) -> OpenError {
    let (path, cause) = (path.to_owned(), cause.into());
    let message = cause.to_string();
    // SQLite calls a page that the disk failed to read malformed too.
    if means_damage(&message) || message.contains("malformed") {
        OpenError::Damaged(path, cause)
    } else if message.contains("locked") {
        OpenError::Locked(path, cause)
    } else {
        OpenError::Unusable(path, cause)
    }
}

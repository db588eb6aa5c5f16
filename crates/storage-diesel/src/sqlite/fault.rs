//! What SQLite's words mean. Diesel hands on no codes, and these texts have not changed in twenty years.

use crate::error::OpenError;
use companion_domain::port::Cause;
use std::path::Path;

/// Whether trying again cannot help: the file is no database, or its tables are not ours.
pub(crate) fn means_damage(message: &str) -> bool {
    ["not a database", "no such table", "no such column", "already exists"]
        .iter()
        .any(|words| message.contains(words))
}

/// Whether a page makes no sense. SQLite also says so of a page that the disk failed to read, so while the database is in use
/// trying again may help.
fn means_malformed(message: &str) -> bool {
    message.contains("malformed")
}

/// Whether the file cannot be trusted until it was looked at as a whole.
pub(super) fn means_damaged_file(message: &str) -> bool {
    ["disk image is malformed", "malformed database schema", "not a database"]
        .iter()
        .any(|words| message.contains(words))
}

/// Whether others were busy for too long.
pub(crate) fn means_busy(message: &str) -> bool {
    message.contains("is locked")
}

/// Whether what was written may not be on disk, whatever later syncs say.
pub(crate) fn means_failed_sync(message: &str) -> bool {
    message.contains("disk I/O error")
}

/// Why a database could not be put to use, told by what it says.
pub(crate) fn open_error(path: &Path, cause: impl Into<Cause>) -> OpenError {
    let (path, cause) = (path.to_owned(), cause.into());
    let message = cause.to_string();
    if means_damage(&message) || means_malformed(&message) {
        OpenError::Damaged { path, cause }
    } else if message.contains("locked") {
        OpenError::Locked { path, cause }
    } else {
        OpenError::Unusable { path, cause }
    }
}

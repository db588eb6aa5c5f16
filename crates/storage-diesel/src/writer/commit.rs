//! The end of every writing transaction.

use super::{interruption::Interruption, status::WriterStatus};
use crate::{connection::AnyConnection, database::Database};
use companion_domain::change::Revision;
use diesel::result::Error as DatabaseError;
use std::sync::atomic::Ordering::Relaxed;

/// Commits, and tells other nodes of the newest revision with it. What was committed to a file that is not at its path any
/// more counts as lost.
pub(super) fn commit(
    connection: &mut AnyConnection,
    latest: Option<Revision>,
    database: &Database,
    status: &WriterStatus,
) -> Result<(), Interruption> {
    if let Some(latest) = latest {
        connection.notify(latest)?;
    }
    if let Err(lost) = check_file(database, true) {
        let _ = connection.roll_back();
        return Err(lost);
    }
    connection.commit().map_err(|error| {
        // Neither a server that is gone nor a disk that failed says what it has kept.
        let certain = !gives_up(&error, database, status) && connection.survives_failed_begin();
        Interruption { certain, ..Interruption::from(error) }
    })?;
    check_file(database, false)
}

/// What is written to a file that is damaged, or not at its path any more, is not found again.
pub(super) fn check_file(database: &Database, certain: bool) -> Result<(), Interruption> {
    let lost = |reason| Interruption { certain, ..Interruption::unavailable(reason) };
    database.check_file().map_err(lost)?;
    database.damage().map_or(Ok(()), |reason| Err(lost(reason)))
}

/// After a failed sync nobody knows what is on disk, and a later sync that succeeds proves nothing.
fn gives_up(error: &DatabaseError, database: &Database, status: &WriterStatus) -> bool {
    let message = match error {
        DatabaseError::RollbackErrorOnCommit { commit_error, .. } => commit_error.to_string(),
        other => other.to_string(),
    };
    let failed_sync = database.means_failed_sync(&message);
    if failed_sync {
        status.given_up.store(true, Relaxed);
        tracing::error!(
            error = message,
            "a commit did not reach the disk: no more writes until this program is restarted"
        );
    }
    failed_sync
}

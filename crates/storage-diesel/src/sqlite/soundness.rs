//! Detects damage to a file that is in use.
//!
//! A file can be overwritten in place: its identity stays the same, and connections continue with their cached pages. A
//! commit then succeeds, but is lost with the process, because the next start rejects the file. The first read or write
//! that meets a damaged page therefore stops all writes, until every page was read again and found intact.

use super::fault::means_damaged_file;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
pub(crate) struct Soundness {
    /// The error that reported the damage.
    damage: Mutex<Option<String>>,
}

impl Soundness {
    /// Records a failure if it means that the file is damaged. Returns whether it does.
    pub(crate) fn note_failure(&self, message: &str) -> bool {
        let is_damaged = means_damaged_file(message);
        if is_damaged {
            // The first message is kept: writes rejected because of it repeat it.
            self.damage().get_or_insert_with(|| {
                tracing::error!(
                    error = message,
                    "the database is damaged: no writes until a check of every page succeeds"
                );
                message.to_owned()
            });
        }
        is_damaged
    }

    /// Returns why writes are rejected, or `None` if no damage was found.
    pub(crate) fn reason(&self) -> Option<String> {
        self.damage().as_ref().map(|message| format!("the database is damaged: {message}"))
    }

    /// Records that every page was found intact.
    pub(super) fn restore(&self) {
        *self.damage() = None;
        tracing::info!("the database passed a check of every page");
    }

    fn damage(&self) -> MutexGuard<'_, Option<String>> {
        self.damage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

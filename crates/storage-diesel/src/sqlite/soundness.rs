//! Whether the file was found damaged while in use.
//!
//! A file can be overwritten in place: its identity stays, and connections go on with the pages they have cached. A commit
//! then succeeds, and is lost with the process, because the next start refuses the file. So the first read or write that
//! meets a damaged page ends all writing, until every page was read again and found sound.

use super::fault::means_damaged_file;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
pub(crate) struct Soundness {
    /// What a connection said of the damaged file.
    doubt: Mutex<Option<String>>,
}

impl Soundness {
    /// Notes a failure if it means that the file is damaged. Returns whether it does.
    pub(crate) fn note_failure(&self, message: &str) -> bool {
        let is_damaged = means_damaged_file(message);
        if is_damaged {
            // The first message stays: writes that are refused because of it repeat it.
            self.doubt().get_or_insert_with(|| {
                tracing::error!(
                    error = message,
                    "the database is damaged: no writes until it is found sound"
                );
                message.to_owned()
            });
        }
        is_damaged
    }

    /// Why nothing may be written, if the file was found damaged.
    pub(crate) fn reason(&self) -> Option<String> {
        self.doubt().as_ref().map(|message| format!("the database is damaged: {message}"))
    }

    /// Notes that every page was found sound.
    pub(super) fn restore(&self) {
        *self.doubt() = None;
        tracing::info!("the database was found sound again");
    }

    fn doubt(&self) -> MutexGuard<'_, Option<String>> {
        self.doubt.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

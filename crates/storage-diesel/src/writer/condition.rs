//! What the last write came to.

use std::sync::{Mutex, PoisonError};

/// Remembers whether the last write worked, or why it failed for good: not because others were busy, but because the disk
/// is full, the database may only be read, or a commit did not come to its end.
#[derive(Default)]
pub(crate) struct Condition(Mutex<Option<String>>);

impl Condition {
    /// Why the last write failed for good, where it did.
    pub(crate) fn failure(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes what a write came to.
    pub(super) fn note(&self, came_to: Result<(), String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = came_to.err();
    }
}

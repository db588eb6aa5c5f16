//! Why a whole transaction came to nothing.

use crate::failure::Failure;
use companion_domain::port::{StoreError, StoreErrorKind};
use diesel::result::Error as DatabaseError;

#[derive(Debug, Clone)]
pub(super) struct Interruption {
    pub(super) kind: StoreErrorKind,
    /// Whether it is over as soon as others have done what they are at.
    pub(super) passing: bool,
    pub(super) reason: String,
    /// Whether it is known that nothing was written.
    pub(super) certain: bool,
}

impl Interruption {
    /// Nothing was written, and nothing will be for now.
    pub(super) const fn unavailable(reason: String) -> Self {
        Self { kind: StoreErrorKind::Unavailable, passing: false, reason, certain: true }
    }
}

impl From<DatabaseError> for Interruption {
    fn from(error: DatabaseError) -> Self {
        let (reason, failure) = (error.to_string(), Failure::from(error));
        let passing = failure.is_passing();
        let kind = match StoreError::from(failure).kind {
            // A conflict would be some job's own, and that fails alone.
            StoreErrorKind::Conflict | StoreErrorKind::Unavailable => StoreErrorKind::Unavailable,
            StoreErrorKind::Corrupt => StoreErrorKind::Corrupt,
        };
        Self { kind, passing, reason, certain: true }
    }
}

impl From<Interruption> for StoreError {
    fn from(Interruption { kind, reason, certain, .. }: Interruption) -> Self {
        let written = if certain { "nothing was written" } else { "it may have been written or not" };
        Self::new(kind, format!("{written}: {reason}"))
    }
}

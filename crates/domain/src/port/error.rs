//! Errors of stores.

use std::{error::Error, sync::Arc};

/// An adapter's own error, kept for the log.
pub type Cause = Box<dyn Error + Send + Sync>;

/// An error of a store. A clone shares the cause, so that concurrent callers of one operation all get its error.
#[derive(Debug, Clone, thiserror::Error)]
#[error("storage: {kind}")]
pub struct StoreError {
    /// The kind of failure.
    pub kind: StoreErrorKind,
    /// The adapter's own error.
    #[source]
    pub cause: Arc<dyn Error + Send + Sync>,
}

/// The kinds of failure that callers handle differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StoreErrorKind {
    /// A concurrent write changed the same record first. Read it again before deciding.
    #[error("changed concurrently")]
    Conflict,
    /// The store cannot serve now: locked, full, gone or overloaded; or the work ended early because its task
    /// panicked or was cancelled. A retry may succeed. Every failure that fits no other kind is of this one.
    #[error("cannot serve now")]
    Unavailable,
    /// Stored data is invalid, and continuing without it would be wrong: a session, a grant, the settings of
    /// a guild, or a file that is damaged as a whole. A retry does not help; an operator has to look.
    #[error("corrupt data")]
    Corrupt,
}

impl StoreError {
    /// Creates an error of this kind.
    pub fn new(kind: StoreErrorKind, cause: impl Into<Cause>) -> Self {
        Self { kind, cause: cause.into().into() }
    }

    /// Creates a [`Conflict`](StoreErrorKind::Conflict).
    pub fn conflict(cause: impl Into<Cause>) -> Self {
        Self::new(StoreErrorKind::Conflict, cause)
    }

    /// Creates an [`Unavailable`](StoreErrorKind::Unavailable).
    pub fn unavailable(cause: impl Into<Cause>) -> Self {
        Self::new(StoreErrorKind::Unavailable, cause)
    }

    /// Creates a [`Corrupt`](StoreErrorKind::Corrupt).
    pub fn corrupt(cause: impl Into<Cause>) -> Self {
        Self::new(StoreErrorKind::Corrupt, cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_the_kind_and_keeps_the_cause() {
        let errors =
            [StoreError::conflict("row"), StoreError::unavailable("row"), StoreError::corrupt("row")];
        let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            ["storage: changed concurrently", "storage: cannot serve now", "storage: corrupt data"]
        );
        assert!(errors.iter().all(|error| error.source().is_some_and(|cause| cause.to_string() == "row")));
    }
}

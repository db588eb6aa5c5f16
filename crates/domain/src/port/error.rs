//! How a store fails.

use std::{error::Error, fmt};

/// An error of an adapter's own, kept for the log.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Why a store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[error("storage: {kind}")]
pub struct StoreError {
    /// What kind of failure it was.
    pub kind: StoreErrorKind,
    /// What the adapter knows about it.
    #[source]
    pub cause: Cause,
}

/// The kinds of failure that callers treat differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// Someone else changed the same thing first. Read it again before deciding anew.
    Conflict,
    /// The store cannot serve now: locked, full, gone, or too busy; or the work ended early, as a task that panicked or
    /// was cancelled. Trying again later may work. Whatever fits no other kind is of this one.
    Unavailable,
    /// What is stored makes no sense, and going on without it would be wrong: a session, a grant, or a file that is
    /// damaged as a whole. Trying again will not help; someone has to look.
    Corrupt,
}

impl fmt::Display for StoreErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Conflict => "changed by someone else meanwhile",
            Self::Unavailable => "cannot serve now",
            Self::Corrupt => "holds something that makes no sense",
        })
    }
}

impl StoreError {
    /// A failure of this kind.
    pub fn new(kind: StoreErrorKind, cause: impl Into<Cause>) -> Self {
        Self { kind, cause: cause.into() }
    }

    /// Someone else changed the same thing first.
    pub fn conflict(cause: impl Into<Cause>) -> Self {
        Self::new(StoreErrorKind::Conflict, cause)
    }

    /// The store cannot serve now.
    pub fn unavailable(cause: impl Into<Cause>) -> Self {
        Self::new(StoreErrorKind::Unavailable, cause)
    }

    /// What is stored makes no sense.
    pub fn corrupt(cause: impl Into<Cause>) -> Self {
        Self::new(StoreErrorKind::Corrupt, cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_its_kind_and_keeps_its_cause() {
        let errors =
            [StoreError::conflict("row"), StoreError::unavailable("row"), StoreError::corrupt("row")];
        let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "storage: changed by someone else meanwhile",
                "storage: cannot serve now",
                "storage: holds something that makes no sense"
            ]
        );
        assert!(errors.iter().all(|error| error.source().is_some_and(|cause| cause.to_string() == "row")));
    }
}

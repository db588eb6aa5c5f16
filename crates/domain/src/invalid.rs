//! The error of all value types.

/// A value that could not be parsed: which field, and what it must be.
///
/// It never contains the rejected value, which may be a secret or megabytes long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} must be {expected}")]
pub struct Invalid {
    /// The field in the caller's terms, for instance `rating`.
    pub field: &'static str,
    /// What is accepted, for instance `a whole number from 1 to 5`.
    pub expected: &'static str,
}

impl Invalid {
    /// Creates the error "`field` must be `expected`".
    #[must_use]
    pub const fn new(field: &'static str, expected: &'static str) -> Self {
        Self { field, expected }
    }
}

//! The one error of all value types.

/// A value that could not be built: which field, and what it must be instead.
///
/// It never carries the refused value: that may be a secret, or megabytes long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} must be {expected}")]
pub struct Invalid {
    /// The field in words a caller knows, for instance `rating`.
    pub field: &'static str,
    /// What would have been accepted, for instance `a whole number from 1 to 5`.
    pub expected: &'static str,
}

impl Invalid {
    /// Says that `field` must be `expected`.
    #[must_use]
    pub const fn new(field: &'static str, expected: &'static str) -> Self {
        Self { field, expected }
    }
}

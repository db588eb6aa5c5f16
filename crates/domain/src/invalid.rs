//! Errors of values.

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

/// An invalid field: its path, and what is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// For instance `roles.MOD[2]`. Empty for the input as a whole.
    pub path: String,
    /// For instance `must be text`.
    pub message: String,
}

impl FieldError {
    /// The most that are reported at once: enough to fix a form, too few to fill a disk.
    pub const MAX_REPORTED: usize = 100;

    /// Creates an error.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

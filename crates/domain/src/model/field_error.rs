//! Errors in fields of the input.

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

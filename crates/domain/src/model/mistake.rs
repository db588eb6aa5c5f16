//! Errors in fields of the input.

/// An invalid field: its path, and what is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// For instance `roles.MOD[2]`. Empty for the input as a whole.
    pub path: String,
    /// For instance `must be text`.
    pub message: String,
}

impl Mistake {
    /// The most that are reported at once: enough to fix a form, too few to fill a disk.
    pub const MOST: usize = 100;
}

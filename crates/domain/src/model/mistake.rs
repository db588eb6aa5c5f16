//! Mistakes in what someone sent.

/// One mistake: where it is, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// `roles.MOD[2]`; empty where the whole is meant.
    pub path: String,
    /// What was expected there: `must be text`.
    pub message: String,
}

impl Mistake {
    /// The most that are told at once: enough to mend a form, too few to fill a disk.
    pub const MOST: usize = 100;
}

//! What the copies amount to, in plain numbers.

/// What one kind of copy amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyStatistics {
    /// What is copied.
    pub name: &'static str,
    /// How many there are.
    pub entries: u64,
    /// About how much memory they take, in bytes.
    pub bytes: u64,
    /// How often one was asked for and there.
    pub hits: u64,
    /// How often one was not there and had to be read. Looking whether it is at hand, and then asking for it, is one miss.
    pub misses: u64,
}

//! Figures about the storage, for whoever watches it.

/// How busy the storage is, and what it has done since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statistics {
    /// Transactions committed by the writer.
    pub commits: u64,
    /// Writes in them. Several share a commit when they come at the same time.
    pub writes: u64,
    /// Transactions that could not be committed, with everything in them.
    pub failed_commits: u64,
    /// Writes that were refused because too many were waiting, or one for too long.
    pub refused_writes: u64,
    /// Writes that are waiting now.
    pub queue_length: usize,
    /// How many could.
    pub queue_capacity: usize,
    /// Whether the writer has given up until the next start, because the disk did not keep what it was given, or the
    /// file is no longer at its path.
    pub given_up: bool,
    /// Connections that read.
    pub readers: u32,
    /// Those of them that nobody uses now.
    pub readers_idle: u32,
}

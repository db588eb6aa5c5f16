//! Load and activity figures of the storage, for monitoring.

/// Load and activity of the storage since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statistics {
    /// Transactions committed by the writer.
    pub commits: u64,
    /// Writes in those transactions. Concurrent writes share a commit.
    pub writes: u64,
    /// Transactions that failed to commit, with all their writes.
    pub failed_commits: u64,
    /// Writes rejected because the queue was full or their wait timed out.
    pub refused_writes: u64,
    /// Writes in the queue.
    pub queue_length: usize,
    /// Capacity of the queue.
    pub queue_capacity: usize,
    /// Whether the writer rejects all writes until a restart, because a commit did not reach the disk or the file is no
    /// longer at its path.
    pub has_given_up: bool,
    /// Connections of the read pool.
    pub readers: u32,
    /// Idle connections of the read pool.
    pub readers_idle: u32,
}

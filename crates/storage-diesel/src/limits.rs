//! What every database limits alike.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// How many reads can run at once.
    pub(crate) readers: NonZeroU32,
    /// How long a read waits for a connection.
    pub(crate) read_patience: Duration,
    /// How long a write waits in the queue, and the writer for others that are writing.
    pub(crate) write_patience: Duration,
    /// How many writes can wait.
    pub(crate) queue: NonZeroUsize,
    /// How many writes share a commit at most.
    pub(crate) gather: NonZeroUsize,
    /// How many changes are remembered at least.
    pub(crate) history: u64,
    /// How many syncs can be staged and merged at once.
    pub(crate) syncs: NonZeroUsize,
    /// How long a sync waits until it may begin.
    pub(crate) sync_patience: Duration,
    /// After how long a read or a write that has begun is given up; nothing where it cannot hang.
    pub(crate) deadline: Option<Duration>,
}

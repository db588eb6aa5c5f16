//! What every database limits alike. The options of each say what these mean.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) readers: NonZeroU32,
    pub(crate) read_patience: Duration,
    pub(crate) write_patience: Duration,
    pub(crate) queue: NonZeroUsize,
    /// How many writes share a commit at most.
    pub(crate) batch: NonZeroUsize,
    pub(crate) history: u64,
    pub(crate) syncs: NonZeroUsize,
    pub(crate) sync_patience: Duration,
    /// After how long a read or a write that has begun is given up; nothing where it cannot hang.
    pub(crate) deadline: Option<Duration>,
}

//! Limits that all databases share. The options of each database document them.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) readers: NonZeroU32,
    pub(crate) max_read_wait: Duration,
    pub(crate) max_write_wait: Duration,
    pub(crate) queue: NonZeroUsize,
    /// Maximum number of writes per commit.
    pub(crate) batch: NonZeroUsize,
    pub(crate) history: u64,
    pub(crate) syncs: NonZeroUsize,
    pub(crate) max_sync_wait: Duration,
    /// Time after which a started read or write is abandoned. `None` if it cannot hang.
    pub(crate) deadline: Option<Duration>,
}

//! Location of the server, and limits on its use.

use super::address::{Address, AddressError};
use crate::limits::Limits;
use companion_domain::model::Secret;
use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

/// Location of the server, and limits on its use. Start from [`PostgresOptions::new`] and change individual fields.
/// Besides `readers`, a node opens two connections to write, one to listen, and one per export and per active sync.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    /// The address, as `postgres://user:password@host:port/database`. Timeouts in it take precedence.
    pub url: Secret,
    /// Maximum number of concurrent reads.
    pub readers: NonZeroU32,
    /// Time that a read waits for a connection before it is rejected.
    pub max_read_wait: Duration,
    /// Time that a write waits in the queue before it is rejected, and that the writer waits for writers of other
    /// nodes.
    pub max_write_wait: Duration,
    /// Statement timeout of the server.
    pub statement_timeout: Duration,
    /// Statement timeout for syncs, exports and migrations.
    pub bulk_timeout: Duration,
    /// Capacity of the write queue. Further writes are rejected.
    pub queue: NonZeroUsize,
    /// Maximum number of writes per commit.
    pub max_batch: NonZeroUsize,
    /// Minimum number of changes kept in the history.
    pub history: u64,
    /// Maximum number of syncs that are staged and merged at once.
    pub syncs: NonZeroUsize,
    /// Time that a sync waits to start before it is rejected.
    pub max_sync_wait: Duration,
}

impl PostgresOptions {
    /// Returns options for this address, with defaults for a service of any size.
    #[must_use]
    pub const fn new(url: Secret) -> Self {
        Self {
            url,
            readers: const { NonZeroU32::new(8).unwrap() },
            max_read_wait: Duration::from_millis(500),
            max_write_wait: Duration::from_secs(2),
            statement_timeout: Duration::from_secs(5),
            bulk_timeout: Duration::from_secs(120),
            queue: const { NonZeroUsize::new(4096).unwrap() },
            max_batch: const { NonZeroUsize::new(256).unwrap() },
            history: 65_536,
            syncs: const { NonZeroUsize::new(4).unwrap() },
            max_sync_wait: Duration::from_secs(10),
        }
    }

    /// Returns why the address is invalid, as far as that can be checked offline.
    #[must_use]
    pub fn address_error(&self) -> Option<AddressError> {
        self.address().error()
    }

    pub(crate) const fn limits(&self) -> Limits {
        Limits {
            readers: self.readers,
            max_read_wait: self.max_read_wait,
            max_write_wait: self.max_write_wait,
            queue: self.queue,
            batch: self.max_batch,
            history: self.history,
            syncs: self.syncs,
            max_sync_wait: self.max_sync_wait,
            // A hung server keeps its connections open, so its own timeouts are not enough.
            deadline: Some(self.max_write_wait.saturating_add(self.statement_timeout)),
        }
    }

    /// Returns the parsed address, whose `Display` is safe to show.
    pub(crate) fn address(&self) -> Address {
        Address::of(&self.url)
    }
}

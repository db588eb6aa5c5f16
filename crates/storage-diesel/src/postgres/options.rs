//! Where the server is, and how much of it may be used.

use super::address::{Address, AddressFlaw};
use crate::limits::Limits;
use companion_domain::model::Secret;
use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

/// Where the server is, and how much of it may be used. Start from [`PostgresOptions::new`] and change what has to
/// differ. A node takes two connections more than it has readers to write with, one to listen with, and one for each
/// export and for each of the few syncs that are staged or merged.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    /// The address, as `postgres://user:password@host:port/database`. What it says of time limits wins.
    pub url: Secret,
    /// How many reads can run at once.
    pub readers: NonZeroU32,
    /// How long a read waits for a connection before it is refused.
    pub read_patience: Duration,
    /// How long a write waits in the queue before it is refused, and the writer for other nodes that are writing.
    pub write_patience: Duration,
    /// How long the server may work on one statement.
    pub statement_timeout: Duration,
    /// The same for a statement of a sync, an export or a migration.
    pub bulk_timeout: Duration,
    /// How many writes can wait; more are refused.
    pub queue: NonZeroUsize,
    /// How many writes share a commit at most.
    pub gather: NonZeroUsize,
    /// How many changes are remembered at least.
    pub history: u64,
    /// How many syncs can be staged and merged at once.
    pub syncs: NonZeroUsize,
    /// How long a sync waits until it may begin, before it is refused.
    pub sync_patience: Duration,
}

impl PostgresOptions {
    /// The database at this address, with the settings that fit a service of any size.
    #[must_use]
    pub const fn new(url: Secret) -> Self {
        Self {
            url,
            readers: const { NonZeroU32::new(8).unwrap() },
            read_patience: Duration::from_millis(500),
            write_patience: Duration::from_secs(2),
            statement_timeout: Duration::from_secs(5),
            bulk_timeout: Duration::from_secs(120),
            queue: const { NonZeroUsize::new(4096).unwrap() },
            gather: const { NonZeroUsize::new(256).unwrap() },
            history: 65_536,
            syncs: const { NonZeroUsize::new(4).unwrap() },
            sync_patience: Duration::from_secs(10),
        }
    }

    /// What is wrong with the address, as far as that can be told without asking anyone.
    #[must_use]
    pub fn flaw(&self) -> Option<AddressFlaw> {
        self.address().flaw()
    }

    pub(crate) const fn limits(&self) -> Limits {
        Limits {
            readers: self.readers,
            read_patience: self.read_patience,
            write_patience: self.write_patience,
            queue: self.queue,
            batch: self.gather,
            history: self.history,
            syncs: self.syncs,
            sync_patience: self.sync_patience,
            // A server that hangs keeps its connections open, so the server's own limits are not enough.
            deadline: Some(self.write_patience.saturating_add(self.statement_timeout)),
        }
    }

    /// Where the database is, as may be shown to anyone.
    pub(crate) fn address(&self) -> Address {
        Address::of(&self.url)
    }
}

//! Location of the server, and limits on its use.

use super::{
    address::{Address, AddressError},
    fault::classify,
};
use crate::error::OpenError;
use crate::limits::{HISTORY, Limits, MAX_SYNC_WAIT, MAX_WRITE_WAIT, READERS, SYNCS};
use companion_domain::{model::Secret, port::Cause};
use std::{num::NonZeroU32, time::Duration};

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
}

impl PostgresOptions {
    /// Returns options for this address, with defaults for a service of any size.
    #[must_use]
    pub const fn new(url: Secret) -> Self {
        Self {
            url,
            readers: READERS,
            max_read_wait: Duration::from_millis(500),
            max_write_wait: MAX_WRITE_WAIT,
            statement_timeout: Duration::from_secs(5),
        }
    }

    /// Returns why the address is invalid, as far as that can be checked offline.
    #[must_use]
    pub fn address_error(&self) -> Option<AddressError> {
        self.address().error()
    }

    /// Converts a failure to open the database to the error shown to the operator.
    pub(crate) fn open_error(&self, cause: impl Into<Cause>) -> OpenError {
        let cause = cause.into();
        classify(&cause.to_string(), &self.address(), cause)
    }

    pub(crate) const fn limits(&self) -> Limits {
        Limits {
            readers: self.readers,
            max_read_wait: self.max_read_wait,
            max_write_wait: self.max_write_wait,
            history: HISTORY,
            syncs: SYNCS,
            max_sync_wait: MAX_SYNC_WAIT,
            // A hung server keeps its connections open, so its own timeouts are not enough.
            deadline: Some(self.max_write_wait.saturating_add(self.statement_timeout)),
        }
    }

    /// Returns the parsed address, whose `Display` is safe to show.
    pub(crate) fn address(&self) -> Address {
        Address::of(&self.url)
    }
}

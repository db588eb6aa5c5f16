//! Location of the server, and limits on its use.

use super::{
    address::{Address, AddressError},
    fault::classify,
};
use crate::{error::OpenError, limits::Limits};
use companion_domain::{model::Secret, port::Cause};
use std::time::Duration;

/// Location of the server, and limits on its use. Start from [`PostgresOptions::new`] and change individual fields.
/// Besides its readers, a node opens two connections to write, one to listen, and one per export and per active sync.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    /// The address, as `postgres://user:password@host:port/database`. Timeouts in it take precedence.
    pub url: Secret,
    /// Limits on the use of the database.
    pub limits: Limits,
    /// Statement timeout of the server.
    pub statement_timeout: Duration,
}

impl PostgresOptions {
    /// Returns options for this address, with defaults for a service of any size.
    #[must_use]
    pub const fn new(url: Secret) -> Self {
        Self {
            url,
            limits: Limits::with_max_read_wait(Duration::from_millis(500)),
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

    /// Returns the statement timeout of writes, which includes the wait for the lock.
    pub(crate) const fn write_timeout(&self) -> Duration {
        self.limits.max_write_wait.saturating_add(self.statement_timeout)
    }

    /// Returns the parsed address, whose `Display` is safe to show.
    pub(crate) fn address(&self) -> Address {
        Address::of(&self.url)
    }
}

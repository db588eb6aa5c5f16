//! Connecting to the server, with the settings of each use.

use super::{address::AddressFlaw, fault::open_error, options::PostgresOptions};
use crate::error::OpenError;
use companion_domain::port::Cause;
use diesel::{Connection, PgConnection, connection::SimpleConnection};
use std::time::Duration;

/// How long a transaction may stay open without anything being done: its node has died, or it never should.
const IDLE: Duration = Duration::from_secs(5);
/// How long an export may wait for whoever takes it. It holds nobody up.
const IDLE_WHILE_EXPORTING: Duration = Duration::from_secs(600);

/// How long a session may keep the server busy.
struct Session {
    statement: Duration,
    lock: Duration,
    idle: Duration,
    may_write: bool,
}

impl PostgresOptions {
    /// A connection that may only read, or listens.
    pub(crate) fn connect_reader(&self) -> Result<PgConnection, Cause> {
        let session = Session {
            statement: self.statement_timeout,
            lock: self.statement_timeout,
            idle: IDLE,
            may_write: false,
        };
        self.connect(&session)
    }

    /// A connection for one long read.
    pub(crate) fn connect_exporter(&self) -> Result<PgConnection, Cause> {
        let session = Session {
            statement: self.bulk_timeout,
            lock: self.statement_timeout,
            idle: IDLE_WHILE_EXPORTING,
            may_write: false,
        };
        self.connect(&session)
    }

    /// A connection that writes what comes along.
    pub(crate) fn connect_writer(&self) -> Result<PgConnection, Cause> {
        let session = Session {
            // Waiting for the lock is part of a statement.
            statement: self.write_patience.saturating_add(self.statement_timeout),
            lock: self.write_patience,
            idle: IDLE,
            may_write: true,
        };
        self.connect(&session)
    }

    pub(crate) fn connect_sync(&self) -> Result<PgConnection, Cause> {
        self.connect(&self.bulk())
    }

    pub(super) fn connect_migration(&self) -> Result<PgConnection, OpenError> {
        let address = self.address();
        match address.flaw() {
            None => {}
            Some(AddressFlaw::Tls) => return Err(OpenError::TlsMissing { database: address.to_string() }),
            Some(AddressFlaw::Form | AddressFlaw::Port | AddressFlaw::Option) => {
                return Err(OpenError::Address);
            }
        }
        self.connect(&self.bulk()).map_err(|cause| open_error(&address, cause))
    }

    const fn bulk(&self) -> Session {
        Session {
            statement: self.bulk_timeout,
            // Other syncs and migrations are as long as this one.
            lock: self.bulk_timeout,
            idle: IDLE,
            may_write: true,
        }
    }

    fn connect(&self, session: &Session) -> Result<PgConnection, Cause> {
        let address = self.address();
        let url = address.completed(&self.url);
        let mut connection = PgConnection::establish(url.expose()).map_err(|error| address.told(&error))?;
        connection.batch_execute(&session.settings())?;
        Ok(connection)
    }
}

impl Session {
    fn settings(&self) -> String {
        let Self { statement, lock, idle, may_write } = self;
        let mut settings = format!(
            "SET statement_timeout = {}; SET lock_timeout = {}; SET idle_in_transaction_session_timeout = {}; \
             SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3; \
             SET jit = off; ",
            statement.as_millis(),
            lock.as_millis(),
            idle.as_millis(),
        );
        settings.push_str(if *may_write {
            // An answer says that the change is on disk, whatever the server does by default.
            "SELECT set_config('synchronous_commit', 'on', false) \
             WHERE current_setting('synchronous_commit') = 'off'"
        } else {
            "SET default_transaction_read_only = on"
        });
        settings
    }
}

//! Connects to the server, with settings by purpose, and begins transactions.
//!
//! Every writing transaction takes locks that serialise writers across nodes. Each later statement sees what the
//! previous writer committed. The single row of the history is locked by every writer when it commits, so revisions are
//! gap-free and committed in order. A transaction that changes the world takes the world lock first. A bulk write of
//! the world holds only the world lock while it writes, and locks the history just before it commits.

use super::{address::AddressError, fault::classify, options::PostgresOptions};
use crate::{error::OpenError, limits::Purpose};
use companion_domain::port::Cause;
use diesel::{
    Connection, PgConnection, RunQueryDsl, connection::SimpleConnection, dsl::sql, sql_types::Text,
};
use std::time::Duration;

/// Statement timeout for syncs, exports and migrations.
const BULK_TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum idle time within a transaction. A longer pause means that the node has died or is at fault.
const MAX_IDLE: Duration = Duration::from_secs(5);
/// The same bound while an export waits for its receiver. An export blocks no writer.
const MAX_EXPORT_IDLE: Duration = Duration::from_secs(600);

impl PostgresOptions {
    pub(crate) fn connect(&self, purpose: Purpose) -> Result<PgConnection, Cause> {
        self.establish(purpose).map_err(|cause| self.address().redacted(&cause))
    }

    /// Connects. The error may contain the password.
    fn establish(&self, purpose: Purpose) -> Result<PgConnection, Cause> {
        let url = self.address().completed(&self.url);
        let mut connection = PgConnection::establish(url.expose())?;
        connection.batch_execute(&self.settings(purpose))?;
        Ok(connection)
    }

    /// Connects. The error is fit to be shown to the operator.
    pub(crate) fn connect_checked(&self, purpose: Purpose) -> Result<PgConnection, OpenError> {
        let address = self.address();
        match address.error() {
            None => {}
            Some(AddressError::Tls) => return Err(OpenError::TlsMissing(address.to_string())),
            Some(AddressError::Form | AddressError::Port | AddressError::Option) => {
                return Err(OpenError::Address);
            }
        }
        let failed = |cause: Cause| classify(&cause.to_string(), &address, address.redacted(&cause));
        let mut connection = self.establish(purpose).map_err(failed)?;
        let encoding: String = sql::<Text>("SELECT current_setting('server_encoding')")
            .get_result(&mut connection)
            .map_err(|error| self.open_error(error))?;
        if encoding != "UTF8" {
            return Err(OpenError::Encoding { database: address.to_string(), encoding });
        }
        Ok(connection)
    }

    /// Returns the timeouts of the session, and the durability of its commits.
    fn settings(&self, purpose: Purpose) -> String {
        let (statement, lock, idle) = match purpose {
            Purpose::Read => (self.statement_timeout, self.statement_timeout, MAX_IDLE),
            Purpose::Export => (BULK_TIMEOUT, self.statement_timeout, MAX_EXPORT_IDLE),
            Purpose::Write => (self.write_timeout(), self.limits.max_write_wait, MAX_IDLE),
            // Other syncs and migrations may take as long as this one.
            Purpose::Bulk => (BULK_TIMEOUT, BULK_TIMEOUT, MAX_IDLE),
        };
        let durability = match purpose {
            Purpose::Read | Purpose::Export => "SET default_transaction_read_only = on",
            // `Ok` promises that a change is durable, whatever the server's default is.
            Purpose::Write | Purpose::Bulk => {
                "SELECT set_config('synchronous_commit', 'on', false) \
                 WHERE current_setting('synchronous_commit') = 'off'"
            }
        };
        format!(
            "SET statement_timeout = {}; SET lock_timeout = {}; SET idle_in_transaction_session_timeout = {}; \
             SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3; \
             SET jit = off; {durability}",
            statement.as_millis(),
            lock.as_millis(),
            idle.as_millis(),
        )
    }
}

macro_rules! begin {
    ($($lock:literal),+) => { concat!("BEGIN ISOLATION LEVEL READ COMMITTED", $("; SELECT ", $lock),+) };
    (world $($lock:literal),*) => {
        begin!("pg_advisory_xact_lock(1129270094, hashtext(current_schema()))" $(, $lock)*)
    };
}

/// Serialises nodes that check and migrate the schema. Each schema of a database has its own lock.
pub(crate) const BEGIN_MIGRATION: &str =
    begin!("pg_advisory_xact_lock(1129270093, hashtext(current_schema()))");
pub(crate) const BEGIN_ALL: &str = begin!(world "id FROM history FOR UPDATE");
/// For writes that do not wait for a bulk write of the world.
pub(crate) const BEGIN_URGENT: &str = begin!("id FROM history FOR UPDATE");
/// For a write of the world. It locks the history just before the commit.
pub(crate) const BEGIN_WORLD: &str = begin!(world);
/// Random reads are served from memory, so they cost less than a sequential scan.
pub(crate) const ASSUME_CACHED: &str = "SET LOCAL random_page_cost = 0.1";
/// For reads on one snapshot.
pub(crate) const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

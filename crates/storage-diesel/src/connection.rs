//! A connection to any of the databases, and the places where they differ.

use companion_domain::change::Revision;
#[cfg(feature = "postgres")]
use diesel::PgConnection;
#[cfg(feature = "sqlite")]
use diesel::SqliteConnection;
use diesel::{
    Connection, QueryResult,
    connection::{AnsiTransactionManager, TransactionManager},
    r2d2::R2D2Connection,
    result::Error as DatabaseError,
};

/// A connection to one of the databases.
#[derive(diesel::MultiConnection)]
pub(crate) enum AnyConnection {
    /// The embedded one.
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteConnection),
    /// A server that several nodes share.
    #[cfg(feature = "postgres")]
    Postgres(PgConnection),
}

/// What a transaction may write, and so whom it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everything.
    All,
    /// What nobody should have to wait for, and no sync of the bot's brings: sessions, grants, used codes and clusters.
    Urgent,
    /// What a sync of the bot's brings, and at the very end the history.
    World,
}

impl AnyConnection {
    /// Opens a transaction that will write: it has the right to from the start, so it cannot lose it halfway, and of what
    /// it may write it sees everything that was committed before. Writers of the same pass one after another, over all
    /// nodes; an embedded database has one right for all.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(unused_variables, reason = "there is only one right to write")
    )]
    pub(crate) fn begin_writing(&mut self, access: Access) -> QueryResult<()> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => {
                AnsiTransactionManager::begin_transaction_sql(connection, "BEGIN IMMEDIATE")
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(connection) => AnsiTransactionManager::begin_transaction_sql(
                connection,
                crate::postgres::begin_writing(access),
            ),
        }
    }

    /// Runs reads that all see the same moment.
    pub(crate) fn snapshot<T, E: From<DatabaseError>>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => AnsiTransactionManager::begin_transaction_sql(connection, "BEGIN")?,
            #[cfg(feature = "postgres")]
            Self::Postgres(connection) => {
                AnsiTransactionManager::begin_transaction_sql(connection, crate::postgres::BEGIN_SNAPSHOT)?;
            }
        }
        match work(self) {
            Ok(value) => {
                self.commit()?;
                Ok(value)
            }
            Err(error) => {
                // Where this fails the connection is broken, and whoever owns it will notice.
                let _ = self.roll_back();
                Err(error)
            }
        }
    }

    /// Opens a savepoint in the open transaction.
    pub(crate) fn begin_part(&mut self) -> QueryResult<()> {
        <Self as Connection>::TransactionManager::begin_transaction(self)
    }

    /// Commits the innermost transaction or savepoint.
    pub(crate) fn commit(&mut self) -> QueryResult<()> {
        <Self as Connection>::TransactionManager::commit_transaction(self)
    }

    /// Rolls the innermost transaction or savepoint back.
    pub(crate) fn roll_back(&mut self) -> QueryResult<()> {
        <Self as Connection>::TransactionManager::rollback_transaction(self)
    }

    /// Tells other nodes of the newest revision, once the open transaction is committed.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "there are no other nodes"))]
    pub(crate) fn announce(&mut self, latest: Revision) -> QueryResult<()> {
        match self {
            // Another process finds out when it asks.
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Self::Postgres(connection) => crate::postgres::announcement::announce(connection, latest),
        }
    }

    /// Whether the schema is the one that this version works with.
    pub(crate) fn has_complete_schema(&mut self) -> QueryResult<bool> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => crate::sqlite::migration::is_complete(connection),
            #[cfg(feature = "postgres")]
            Self::Postgres(connection) => crate::postgres::migration::is_complete(connection),
        }
    }

    /// Whether a failed beginning says nothing against the connection. What SQLite has staged hangs on it; a server may
    /// have changed its part since, so the next beginning looks for it anew.
    pub(crate) const fn outlives_a_failed_beginning(&self) -> bool {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => true,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => false,
        }
    }

    /// Whether the connection is of no use any more.
    pub(crate) fn is_gone(&mut self) -> bool {
        self.is_broken()
    }

    /// Whether commits see to it that the log does not grow, or leave that to someone else.
    #[cfg_attr(not(feature = "sqlite"), expect(unused_variables, reason = "a server does it by itself"))]
    pub(crate) fn set_checkpointing(&mut self, checkpointing: bool) -> QueryResult<()> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => crate::sqlite::connect::set_checkpointing(connection, checkpointing),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Moves what was written from the log to where it belongs, while others go on.
    pub(crate) fn checkpoint(&mut self) {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => {
                // The next one moves what this one cannot.
                let _ = diesel::connection::SimpleConnection::batch_execute(
                    connection,
                    "PRAGMA wal_checkpoint(PASSIVE)",
                );
            }
            // A server does it by itself.
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => {}
        }
    }

    /// Does what is due before the connection that writes is closed.
    pub(crate) fn finish(&mut self) {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => {
                // A log that stays is replayed by the next start, so a failure here costs nothing.
                let _ = diesel::connection::SimpleConnection::batch_execute(
                    connection,
                    "PRAGMA wal_checkpoint(TRUNCATE)",
                );
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => {}
        }
    }
}

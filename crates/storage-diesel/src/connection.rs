//! A connection to either database, and the operations in which they differ.

use crate::{
    postgres::{
        connect::{ASSUME_CACHED, BEGIN_ALL, BEGIN_SNAPSHOT, BEGIN_URGENT, BEGIN_WORLD},
        notification,
    },
    sqlite::{connect, transaction},
};
use companion_domain::change::Revision;
use diesel::{
    Connection, PgConnection, QueryResult, SqliteConnection,
    connection::{AnsiTransactionManager, SimpleConnection, TransactionManager},
    result::Error as DatabaseError,
};

#[derive(diesel::MultiConnection)]
pub(crate) enum AnyConnection {
    /// The embedded database.
    Sqlite(SqliteConnection),
    /// A server that several nodes share.
    Postgres(PgConnection),
}

/// What a transaction may write, which decides what it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    All,
    /// Sessions, grants, used codes and clusters. These writes must not wait, and no bulk write of the world contains
    /// them.
    Urgent,
    /// The world that the bot feeds, and the history just before the commit.
    World,
}

impl AnyConnection {
    /// Begins a writing transaction. It takes the write lock up front, so it cannot fail to upgrade later, and it sees
    /// every earlier commit to what it may write. Writers with the same access are serialised across nodes. An embedded
    /// database has a single write lock.
    pub(crate) fn begin_writing(&mut self, access: Access) -> QueryResult<()> {
        match self {
            Self::Sqlite(connection) => transaction::begin_writing(connection),
            Self::Postgres(connection) => {
                let begin = match access {
                    Access::All => BEGIN_ALL,
                    Access::Urgent => BEGIN_URGENT,
                    Access::World => BEGIN_WORLD,
                };
                AnsiTransactionManager::begin_transaction_sql(connection, begin)
            }
        }
    }

    /// Runs reads on one snapshot.
    pub(crate) fn snapshot<T, E: From<DatabaseError>>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        match self {
            Self::Sqlite(connection) => AnsiTransactionManager::begin_transaction_sql(connection, "BEGIN")?,
            Self::Postgres(connection) => {
                AnsiTransactionManager::begin_transaction_sql(connection, BEGIN_SNAPSHOT)?;
            }
        }
        match work(self) {
            Ok(value) => {
                self.commit()?;
                Ok(value)
            }
            Err(error) => {
                // If this fails the connection is broken, and its owner will notice.
                let _ = self.roll_back();
                Err(error)
            }
        }
    }

    /// Makes the planner prefer index scans for the rest of the transaction, because the pages of the rows it writes
    /// were read just before. Without it PostgreSQL scans the whole table, assuming that pages come from disk.
    pub(crate) fn assume_cached(&mut self) -> QueryResult<()> {
        match self {
            // SQLite uses the index anyway.
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(connection) => connection.batch_execute(ASSUME_CACHED),
        }
    }

    pub(crate) fn begin_savepoint(&mut self) -> QueryResult<()> {
        <Self as Connection>::TransactionManager::begin_transaction(self)
    }

    pub(crate) fn commit(&mut self) -> QueryResult<()> {
        match self {
            Self::Sqlite(connection) => transaction::commit(connection),
            Self::Postgres(connection) => AnsiTransactionManager::commit_transaction(connection),
        }
    }

    pub(crate) fn roll_back(&mut self) -> QueryResult<()> {
        <Self as Connection>::TransactionManager::rollback_transaction(self)
    }

    /// Notifies other nodes of the newest revision when the open transaction commits.
    pub(crate) fn notify(&mut self, latest: Revision) -> QueryResult<()> {
        match self {
            // Another process finds the change by polling.
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(connection) => notification::notify(connection, latest),
        }
    }

    /// Returns whether a connection stays usable after a failed begin. The temporary tables of a SQLite connection
    /// depend on it. A server may have switched roles, so the next transaction reconnects.
    pub(crate) const fn survives_failed_begin(&self) -> bool {
        matches!(self, Self::Sqlite(_))
    }

    /// Sets whether commits on this connection run checkpoints. A server runs them by itself.
    pub(crate) fn set_auto_checkpoint(&mut self, on: bool) -> QueryResult<()> {
        if let Self::Sqlite(file) = self { connect::set_auto_checkpoint(file, on) } else { Ok(()) }
    }

    /// Copies committed pages from the write-ahead log into the database, without blocking others. The next checkpoint
    /// copies what this one cannot.
    pub(crate) fn checkpoint(&mut self) {
        if let Self::Sqlite(file) = self {
            let _ = file.batch_execute("PRAGMA wal_checkpoint(PASSIVE)");
        }
    }

    /// Copies the whole log into the database and truncates it, before a writing connection is closed. A failure is
    /// harmless: the next start replays the log.
    pub(crate) fn finish(&mut self) {
        if let Self::Sqlite(file) = self {
            let _ = file.batch_execute("PRAGMA wal_checkpoint(TRUNCATE)");
        }
    }
}

//! A connection to any of the databases, and the places where they differ.

#[cfg(feature = "postgres")]
use crate::postgres::{self, notification, transaction};
#[cfg(feature = "sqlite")]
use crate::sqlite::{self, connect};
use companion_domain::change::Revision;
#[cfg(feature = "sqlite")]
use diesel::SqliteConnection;
use diesel::{
    Connection, QueryResult,
    connection::{AnsiTransactionManager, TransactionManager},
    result::Error as DatabaseError,
};
#[cfg(feature = "postgres")]
use diesel::{PgConnection, connection::SimpleConnection};

#[derive(diesel::MultiConnection)]
pub(crate) enum AnyConnection {
    /// The embedded one.
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteConnection),
    /// A server that several nodes share.
    #[cfg(feature = "postgres")]
    Postgres(PgConnection),
}

pub(crate) type AnyBackend = <AnyConnection as Connection>::Backend;

/// What a transaction may write, and so whom it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    All,
    /// What nobody should have to wait for, and no bulk write of the world brings: sessions, grants, used codes and
    /// clusters.
    Urgent,
    /// The world that the bot feeds, and at the very end the history.
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
            Self::Postgres(connection) => {
                let begin = match access {
                    Access::All => transaction::BEGIN_ALL,
                    Access::Urgent => transaction::BEGIN_URGENT,
                    Access::World => transaction::BEGIN_WORLD,
                };
                AnsiTransactionManager::begin_transaction_sql(connection, begin)
            }
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
                AnsiTransactionManager::begin_transaction_sql(connection, transaction::BEGIN_SNAPSHOT)?;
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

    /// Lets the rest of the open transaction find rows by their keys where it wants few of a table, since their pages were
    /// touched just before. A server would rather read the whole table, as if each page had to come from the disk.
    pub(crate) fn assume_cached(&mut self) -> QueryResult<()> {
        match self {
            // It finds them by their keys anyway.
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Self::Postgres(connection) => connection.batch_execute(transaction::ASSUME_CACHED),
        }
    }

    pub(crate) fn begin_savepoint(&mut self) -> QueryResult<()> {
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
    pub(crate) fn notify(&mut self, latest: Revision) -> QueryResult<()> {
        match self {
            // Another process finds out when it asks.
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Self::Postgres(connection) => notification::notify(connection, latest),
        }
    }

    /// Whether the schema is the one that this version works with.
    pub(crate) fn has_complete_schema(&mut self) -> QueryResult<bool> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => sqlite::migration::is_complete(connection),
            #[cfg(feature = "postgres")]
            Self::Postgres(connection) => postgres::migration::is_complete(connection),
        }
    }

    /// Whether a transaction that could not begin says nothing against the connection. What SQLite has staged hangs on it;
    /// a server may have changed its part since, so the next transaction looks for it anew.
    pub(crate) const fn survives_failed_begin(&self) -> bool {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => true,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => false,
        }
    }

    /// Sets whether commits make checkpoints, or leave them to someone else.
    #[cfg_attr(not(feature = "sqlite"), expect(unused_variables, reason = "a server does it by itself"))]
    pub(crate) fn set_auto_checkpoint(&mut self, on: bool) -> QueryResult<()> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => connect::set_auto_checkpoint(connection, on),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Moves what was written from the log to where it belongs, while others go on. A server does it by itself.
    pub(crate) fn checkpoint(&mut self) {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => connect::checkpoint(connection),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => {}
        }
    }

    /// Does what is due before the connection that writes is closed.
    pub(crate) fn finish(&mut self) {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => connect::empty_log(connection),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => {}
        }
    }
}

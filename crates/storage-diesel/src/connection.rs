//! A connection to any of the databases, and the places where they differ.

use diesel::{
    Connection, QueryResult, SqliteConnection,
    connection::{AnsiTransactionManager, TransactionManager},
};

/// A connection to one of the databases.
#[derive(diesel::MultiConnection)]
pub(crate) enum AnyConnection {
    /// The embedded one.
    Sqlite(SqliteConnection),
}

impl AnyConnection {
    /// Opens a transaction that will write: it has the right to from the start, so it cannot lose it halfway.
    pub(crate) fn begin_writing(&mut self) -> QueryResult<()> {
        match self {
            Self::Sqlite(connection) => {
                AnsiTransactionManager::begin_transaction_sql(connection, "BEGIN IMMEDIATE")
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

    /// Whether the schema is the one that this version works with.
    pub(crate) fn has_complete_schema(&mut self) -> QueryResult<bool> {
        match self {
            Self::Sqlite(connection) => crate::sqlite::migration::is_complete(connection),
        }
    }
}

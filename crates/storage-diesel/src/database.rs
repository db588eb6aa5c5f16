//! The database in use: how to connect to it, and its limits.

use crate::{
    connection::AnyConnection,
    error::OpenError,
    limits::Limits,
    postgres::{self, PostgresOptions},
    purpose::Purpose,
    sqlite::{self, connect::SqliteDatabase},
};
use companion_domain::port::Cause;
use std::fmt;

pub(crate) enum Database {
    Sqlite(SqliteDatabase),
    Postgres(PostgresOptions),
}

impl Database {
    /// Applies pending migrations. Returns their names.
    pub(crate) fn migrate(&self) -> Result<Vec<String>, OpenError> {
        match self {
            Self::Sqlite(database) => database.migrate(),
            Self::Postgres(options) => options.migrate(),
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        match self {
            Self::Sqlite(database) => database.limits(),
            Self::Postgres(options) => options.limits(),
        }
    }

    pub(crate) fn connect(&self, purpose: Purpose) -> Result<AnyConnection, Cause> {
        match self {
            Self::Sqlite(database) => database.connect(purpose).map(AnyConnection::Sqlite),
            Self::Postgres(options) => options.connect(purpose).map(AnyConnection::Postgres),
        }
    }

    /// Returns an error if the database file is no longer at its path, because a write would then be lost. Once
    /// returned, the error is permanent.
    pub(crate) fn check_file(&self) -> Result<(), String> {
        match self {
            Self::Sqlite(database) => database.identity.check(),
            // A server manages its own files.
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Returns whether the database file is known to be gone from its path.
    pub(crate) fn has_lost_file(&self) -> bool {
        match self {
            Self::Sqlite(database) => database.identity.is_lost(),
            Self::Postgres(_) => false,
        }
    }

    /// Records a failure that may indicate a damaged database. Returns whether it does.
    pub(crate) fn note_failure(&self, message: &str) -> bool {
        match self {
            Self::Sqlite(database) => database.soundness.note_failure(message),
            Self::Postgres(_) => false,
        }
    }

    /// Returns why writes are rejected, or `None` if no damage was found.
    pub(crate) fn damage(&self) -> Option<String> {
        match self {
            Self::Sqlite(database) => database.soundness.reason(),
            Self::Postgres(_) => None,
        }
    }

    /// Checks every page of a database that was found damaged. Returns whether a check was necessary; `Err` means that
    /// the damage remains.
    pub(crate) fn verify(&self) -> Result<bool, String> {
        match self {
            Self::Sqlite(database) => database.verify(),
            Self::Postgres(_) => Ok(false),
        }
    }

    /// Returns whether a commit that failed with this message may be missing on disk, even if later commits succeed.
    pub(crate) fn means_failed_sync(&self, message: &str) -> bool {
        match self {
            Self::Sqlite(_) => sqlite::fault::means_failed_sync(message),
            // The server stops by itself when its disk fails, and recovers when it starts again.
            Self::Postgres(_) => false,
        }
    }

    /// Converts a failure to open the database to the error shown to the operator.
    pub(crate) fn open_error(&self, cause: impl Into<Cause>) -> OpenError {
        match self {
            Self::Sqlite(database) => sqlite::fault::open_error(&database.path, cause),
            Self::Postgres(options) => postgres::fault::open_error(&options.address(), cause),
        }
    }
}

/// Prints the location of the database only.
impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(database) => write!(f, "{}", database.path.display()),
            Self::Postgres(options) => write!(f, "{}", options.address()),
        }
    }
}

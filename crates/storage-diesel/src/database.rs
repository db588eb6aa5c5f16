//! The database in use: how to connect to it, and its limits.

use crate::{
    connection::AnyConnection,
    error::OpenError,
    limits::{Limits, Purpose},
    postgres::PostgresOptions,
    sqlite::{self, connect::SqliteDatabase},
};
use companion_domain::port::Cause;
use std::{fmt, time::Duration};

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

    pub(crate) fn limits(&self) -> &Limits {
        match self {
            Self::Sqlite(database) => &database.limits,
            Self::Postgres(options) => &options.limits,
        }
    }

    /// Returns the time after which a started read or write is abandoned. `None` if it cannot hang. A hung server keeps
    /// its connections open, so its own timeouts are not enough.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(options) => Some(options.write_timeout()),
        }
    }

    pub(crate) fn connect(&self, purpose: Purpose) -> Result<AnyConnection, Cause> {
        match self {
            Self::Sqlite(database) => database.connect(purpose).map(AnyConnection::Sqlite),
            Self::Postgres(options) => options.connect(purpose).map(AnyConnection::Postgres),
        }
    }

    /// The database as a file. A server manages its own files: it stops by itself when its disk fails, and recovers when
    /// it starts again.
    fn file(&self) -> Option<&SqliteDatabase> {
        match self {
            Self::Sqlite(database) => Some(database),
            Self::Postgres(_) => None,
        }
    }

    /// Returns an error if the database file is no longer at its path, because a write would then be lost. Once
    /// returned, the error is permanent.
    pub(crate) fn check_file(&self) -> Result<(), String> {
        self.file().map_or(Ok(()), |file| file.identity.check())
    }

    /// Returns whether the database file is known to be gone from its path.
    pub(crate) fn has_lost_file(&self) -> bool {
        self.file().is_some_and(|file| file.identity.is_lost())
    }

    /// Records a failure that may indicate a damaged database. Returns whether it does.
    pub(crate) fn note_failure(&self, message: &str) -> bool {
        self.file().is_some_and(|file| file.soundness.note_failure(message))
    }

    /// Returns why writes are rejected, or `None` if no damage was found.
    pub(crate) fn damage(&self) -> Option<String> {
        self.file()?.soundness.reason()
    }

    /// Checks every page of a database that was found damaged. Returns whether a check was necessary; `Err` means that
    /// the damage remains.
    pub(crate) fn verify(&self) -> Result<bool, String> {
        self.file().map_or(Ok(false), SqliteDatabase::verify)
    }

    /// Returns whether a commit that failed with this message may be missing on disk, even if later commits succeed.
    pub(crate) fn means_failed_sync(&self, message: &str) -> bool {
        self.file().is_some() && sqlite::fault::means_failed_sync(message)
    }

    /// Converts a failure to open the database to the error shown to the operator.
    pub(crate) fn open_error(&self, cause: impl Into<Cause>) -> OpenError {
        match self {
            Self::Sqlite(database) => database.open_error(cause),
            Self::Postgres(options) => options.open_error(cause),
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

//! The database in use: how to connect to it, and its limits.

#[cfg(feature = "postgres")]
use crate::postgres::{self, PostgresOptions};
#[cfg(feature = "sqlite")]
use crate::sqlite::{self, connect::SqliteDatabase};
use crate::{connection::AnyConnection, error::OpenError, limits::Limits, purpose::Purpose};
use companion_domain::port::Cause;
use std::fmt;

pub(crate) enum Database {
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteDatabase),
    #[cfg(feature = "postgres")]
    Postgres(PostgresOptions),
}

impl Database {
    /// Applies pending migrations. Returns their names.
    pub(crate) fn migrate(&self) -> Result<Vec<String>, OpenError> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(database) => database.migrate(),
            #[cfg(feature = "postgres")]
            Self::Postgres(options) => options.migrate(),
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(database) => database.limits(),
            #[cfg(feature = "postgres")]
            Self::Postgres(options) => options.limits(),
        }
    }

    pub(crate) fn connect(&self, purpose: Purpose) -> Result<AnyConnection, Cause> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(database) => database.connect(purpose).map(AnyConnection::Sqlite),
            #[cfg(feature = "postgres")]
            Self::Postgres(options) => options.connect(purpose).map(AnyConnection::Postgres),
        }
    }

    /// Returns an error if the database file is no longer at its path, because a write would then be lost. Once
    /// returned, the error is permanent.
    pub(crate) fn check_file(&self) -> Result<(), String> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(database) => database.identity.check(),
            // A server manages its own files.
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Returns whether the database file is known to be gone from its path.
    pub(crate) fn has_lost_file(&self) -> bool {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(database) => database.identity.is_lost(),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => false,
        }
    }

    /// Records a failure that may indicate a damaged database. Returns whether it does.
    pub(crate) fn note_failure(&self, message: &str) -> bool {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(database) => database.soundness.note_failure(message),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => {
                let _ = message;
                false
            }
        }
    }

    /// Returns why writes are rejected, or `None` if no damage was found.
    pub(crate) fn damage(&self) -> Option<String> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(database) => database.soundness.reason(),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => None,
        }
    }

    /// Checks every page of a database that was found damaged. Returns whether a check was necessary; `Err` means that
    /// the damage remains.
    pub(crate) fn verify(&self) -> Result<bool, String> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(database) => database.verify(),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Ok(false),
        }
    }

    /// Returns whether a commit that failed with this message may be missing on disk, even if later commits succeed.
    pub(crate) fn means_failed_sync(&self, message: &str) -> bool {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => sqlite::fault::means_failed_sync(message),
            // The server stops by itself when its disk fails, and recovers when it starts again.
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => {
                let _ = message;
                false
            }
        }
    }

    /// Converts a failure to open the database to the error shown to the operator.
    pub(crate) fn open_error(&self, cause: impl Into<Cause>) -> OpenError {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(database) => sqlite::fault::open_error(&database.path, cause),
            #[cfg(feature = "postgres")]
            Self::Postgres(options) => postgres::fault::open_error(&options.address(), cause),
        }
    }
}

/// Prints the location of the database only.
impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(database) => write!(f, "{}", database.path.display()),
            #[cfg(feature = "postgres")]
            Self::Postgres(options) => write!(f, "{}", options.address()),
        }
    }
}

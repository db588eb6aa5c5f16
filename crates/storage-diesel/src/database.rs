//! Which database it is, how it is reached, and how much of it may be used.

#[cfg(feature = "postgres")]
use crate::postgres::{self, PostgresOptions};
#[cfg(feature = "sqlite")]
use crate::sqlite::{self, connect::SqliteDatabase};
use crate::{connection::AnyConnection, error::OpenError, limits::Limits, purpose::Purpose};
use companion_domain::port::Cause;
use std::fmt;

/// One of the databases, with its options.
pub(crate) enum Database {
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteDatabase),
    #[cfg(feature = "postgres")]
    Postgres(PostgresOptions),
}

impl Database {
    /// Brings the schema up to date. Returns the names of the steps applied.
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

    /// Fails where what is written would not be found again: the database's file is no longer at its path. Such a
    /// failure stays.
    pub(crate) fn check_file(&self) -> Result<(), String> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(database) => database.identity.check(),
            // The server's files are the server's affair.
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Whether the database's file was found not to be at its path any more.
    pub(crate) fn has_lost_file(&self) -> bool {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(database) => database.identity.is_lost(),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => false,
        }
    }

    /// Notes a failure that may mean that the database is damaged. Returns whether it does.
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

    /// Why nothing may be written, if the database was found damaged.
    pub(crate) fn damage(&self) -> Option<String> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(database) => database.soundness.reason(),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => None,
        }
    }

    /// Looks at all of a database that was found damaged. Returns whether there was a doubt; an error means that it stays.
    pub(crate) fn prove(&self) -> Result<bool, String> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(database) => database.prove(),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Ok(false),
        }
    }

    /// Whether a commit that failed like this may not be on disk, whatever later ones say.
    pub(crate) fn means_failed_sync(&self, message: &str) -> bool {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => sqlite::fault::means_failed_sync(message),
            // The server stops by itself when its disk fails, and finds out what it has when it starts again.
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => {
                let _ = message;
                false
            }
        }
    }

    /// What to tell of a failure to put the database to use.
    pub(crate) fn open_error(&self, cause: impl Into<Cause>) -> OpenError {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(database) => sqlite::fault::open_error(&database.path, cause),
            #[cfg(feature = "postgres")]
            Self::Postgres(options) => postgres::fault::open_error(&options.address(), cause),
        }
    }
}

/// Says where the database is, and no more.
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

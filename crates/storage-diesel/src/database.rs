//! Which database it is, how it is reached, and how much of it may be used.

#[cfg(feature = "postgres")]
use crate::postgres::PostgresOptions;
#[cfg(feature = "sqlite")]
use crate::sqlite::SqliteDatabase;
use crate::{connection::AnyConnection, error::OpenError};
use companion_domain::port::Cause;
use std::{
    fmt,
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

/// One of the databases, with its options.
pub(crate) enum Database {
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteDatabase),
    #[cfg(feature = "postgres")]
    Postgres(PostgresOptions),
}

/// What all databases limit alike.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// How many reads can run at once.
    pub(crate) readers: NonZeroU32,
    /// How long a read waits for its turn.
    pub(crate) read_patience: Duration,
    /// How long a write waits for its turn, and the writer for others that are writing.
    pub(crate) write_patience: Duration,
    /// How many writes can wait.
    pub(crate) queue: NonZeroUsize,
    /// How many writes are committed together at most.
    pub(crate) gather: NonZeroUsize,
    /// How many changes are remembered at least.
    pub(crate) history: u64,
    /// How many syncs can be staged and merged at once.
    pub(crate) syncs: NonZeroUsize,
    /// How long a sync waits for its turn.
    pub(crate) sync_patience: Duration,
    /// After how long a read or a write that has begun is given up; nothing where it cannot hang.
    pub(crate) deadline: Option<Duration>,
}

impl Database {
    /// Brings the schema up to date. Returns the names of the steps applied.
    pub(crate) fn migrate(&self) -> Result<Vec<String>, OpenError> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(options) => options.migrate(),
            #[cfg(feature = "postgres")]
            Self::Postgres(options) => options.migrate(),
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(options) => options.limits(),
            #[cfg(feature = "postgres")]
            Self::Postgres(options) => options.limits(),
        }
    }

    /// A connection that may only read.
    pub(crate) fn connect_reader(&self) -> Result<AnyConnection, Cause> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(options) => options.connect_reader(),
            #[cfg(feature = "postgres")]
            Self::Postgres(options) => options.connect_reader(),
        }
    }

    /// A connection for one long read.
    pub(crate) fn connect_exporter(&self) -> Result<AnyConnection, Cause> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(options) => options.connect_reader(),
            #[cfg(feature = "postgres")]
            Self::Postgres(options) => options.connect_exporter(),
        }
    }

    /// A connection that may write.
    pub(crate) fn connect_writer(&self) -> Result<AnyConnection, Cause> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(options) => options.connect_writer(),
            #[cfg(feature = "postgres")]
            Self::Postgres(options) => options.connect_writer(),
        }
    }

    /// Fails where what is written would not be found again: the database's file is no longer at its path. Such a
    /// failure stays.
    pub(crate) fn check_file(&self) -> Result<(), String> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(options) => options.identity.check(),
            // The server's files are the server's affair.
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Whether the database's file was found not to be at its path any more.
    pub(crate) fn has_lost_file(&self) -> bool {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(options) => options.identity.is_lost(),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => false,
        }
    }

    /// A connection for one sync.
    pub(crate) fn connect_sync(&self) -> Result<AnyConnection, Cause> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(options) => options.connect_sync(),
            #[cfg(feature = "postgres")]
            Self::Postgres(options) => options.connect_sync(),
        }
    }

    /// Whether a commit that failed like this may not be on disk, whatever later ones say.
    pub(crate) fn means_failed_sync(&self, message: &str) -> bool {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => crate::sqlite::fault::means_failed_sync(message),
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
            Self::Sqlite(options) => crate::sqlite::fault::open_error(&options.path, cause),
            #[cfg(feature = "postgres")]
            Self::Postgres(options) => crate::postgres::fault::open_error(&options.address(), cause),
        }
    }
}

/// Says where the database is, and no more.
impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(options) => write!(f, "{}", options.path.display()),
            #[cfg(feature = "postgres")]
            Self::Postgres(options) => write!(f, "{}", options.address()),
        }
    }
}

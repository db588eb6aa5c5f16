//! Errors of opening or copying a database, as shown to the operator.

use companion_domain::port::{Cause, StoreError};
use std::path::PathBuf;

/// Why a database could not be opened. Each message says how to fix it.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file is missing or empty, and must not be created.
    #[error("there is no database at {}", std::path::absolute(.0).as_ref().unwrap_or(.0).display())]
    Missing(PathBuf),
    /// The file cannot be opened, read or written.
    #[error("cannot open the database {}: check that the folder exists and that this user may write there", .0.display())]
    Unusable(PathBuf, #[source] Cause),
    /// Another process holds a lock on the database.
    #[error("the database {} is locked by another process: stop it, or wait until it is done, and start again", .0.display())]
    Locked(PathBuf, #[source] Cause),
    /// The write-ahead log beside the file belongs to the database that was there before. Neither file was changed.
    #[error(
        "{} is an unused backup, and {} belongs to the previous database: move that file and the one that ends in \
         -shm away, and start again",
        path.display(),
        log.display()
    )]
    ForeignLog {
        /// Path of the file.
        path: PathBuf,
        /// Path of the log beside it.
        log: PathBuf,
    },
    /// The file is damaged, or not a database. It was not changed.
    #[error("{} is damaged or not a SQLite database: it was left as it is; restore a backup, or name another file", .0.display())]
    Damaged(PathBuf, #[source] Cause),
    /// The file is a database of another program. It was not changed.
    #[error("{} is a SQLite database of another program, and was left as it is: name another file", .0.display())]
    Foreign(PathBuf),
    /// The schema was migrated by a newer version.
    #[error(
        "the database {database} was made by a newer version (it has step {step}, which this one does not know): \
         upgrade this program, or restore a backup from before"
    )]
    Newer {
        /// The database: a file, or its location on a server.
        database: String,
        /// The first unknown migration.
        step: String,
    },
    /// The tables differ from those that the recorded migrations create.
    #[error(
        "the schema of the database {database} is half-applied or was altered by hand ({difference}): \
         restore a backup, or undo the alteration"
    )]
    Altered {
        /// The database: a file, or its location on a server.
        database: String,
        /// The first difference.
        difference: String,
    },
    /// The address of the server is invalid. It is not shown, because it may contain a password.
    #[error(
        "the address of the database is not valid: write it as postgres://user:password@host:port/database, \
         with %-escapes for what is neither a letter nor a digit in the password"
    )]
    Address,
    /// The server cannot be reached.
    #[error(
        "cannot reach {0}: check that the server runs, that host and port are right, and that a firewall \
         lets this machine through"
    )]
    Unreachable(String, #[source] Cause),
    /// The server rejected the login.
    #[error("{0} refuses the login: check the user, its password and the server's pg_hba.conf")]
    LoginRefused(String, #[source] Cause),
    /// The server has no such database.
    #[error("there is no {0}: create it with CREATE DATABASE, or name another one")]
    NoDatabase(String, #[source] Cause),
    /// The user lacks a privilege.
    #[error(
        "the user may not create tables in {0}: make it the owner of the database, \
         or GRANT it USAGE and CREATE on the schema"
    )]
    Forbidden(String, #[source] Cause),
    /// Another node held the migration lock for too long.
    #[error("another node is changing the schema of {0}: wait until it is done, and start again")]
    Migrating(String, #[source] Cause),
    /// The encoding of the database is not UTF-8.
    #[error("{database} holds text as {encoding}: create it anew with ENCODING 'UTF8'")]
    Encoding {
        /// The database and its server.
        database: String,
        /// The encoding of the database.
        encoding: String,
    },
    /// The address requires TLS, and this build has none.
    #[error(
        "the address of {0} asks for TLS, which this build does not have: use a release, \
         build with the feature `postgres-tls`, or set sslmode=disable where the network is yours alone"
    )]
    TlsMissing(String),
}

/// Why a backup failed. No partial file is left behind.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// A file of that name exists.
    #[error("{} exists already and was left as it is: choose another name", .0.display())]
    Exists(PathBuf),
    /// The copy could not be written.
    #[error("cannot write the backup {}", .0.display())]
    Unwritable(PathBuf, #[source] Cause),
    /// The database is on a server, which has its own backup tools.
    #[error("a PostgreSQL database is not backed up by this program: use pg_dump, or `companion export`")]
    OnServer,
    /// The database could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

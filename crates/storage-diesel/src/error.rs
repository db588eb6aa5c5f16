//! Why a database could not be put to use, or copied: what whoever opens it is told.

use companion_domain::port::{Cause, StoreError};
use std::path::PathBuf;

/// Why a database could not be put to use. Each says what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no file, or an empty one, and none was to be made.
    #[error("there is no database at {}", std::path::absolute(path).as_ref().unwrap_or(path).display())]
    Missing {
        /// Where there is none.
        path: PathBuf,
    },
    /// The file cannot be opened, read or written.
    #[error("cannot open the database {}: check that the folder exists and that this user may write there", path.display())]
    Unusable {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        #[source]
        cause: Cause,
    },
    /// Someone else keeps the database locked.
    #[error("the database {} is locked by another process: stop it, or wait until it is done, and start again", path.display())]
    Locked {
        /// Which file.
        path: PathBuf,
        /// What the database says.
        #[source]
        cause: Cause,
    },
    /// The write-ahead log beside the file is of the database that was there before. It is left as it is, and so is the file.
    #[error(
        "{} is a backup that nobody has used yet, and {} belongs to the database that was there before: move that \
         file away, and the one that ends in -shm, and start again",
        path.display(),
        log.display()
    )]
    OthersLog {
        /// Which file.
        path: PathBuf,
        /// The log beside it.
        log: PathBuf,
    },
    /// The file is damaged, or no database at all. It is left as it is.
    #[error("{} is damaged or not a SQLite database: it was left as it is; restore a backup, or name another file", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What the database says.
        #[source]
        cause: Cause,
    },
    /// The file is a database of another program. It is left as it is.
    #[error("{} is a SQLite database of another program, and was left as it is: name another file", path.display())]
    Foreign {
        /// Which file.
        path: PathBuf,
    },
    /// A newer version has been here.
    #[error(
        "the database {database} was made by a newer version (it has step {step}, which this one does not know): \
         upgrade this program, or restore a backup from before"
    )]
    Newer {
        /// Which database: a file, or a place on a server.
        database: String,
        /// The first unknown step.
        step: String,
    },
    /// The tables are not those that the recorded steps make.
    #[error(
        "the schema of the database {database} is half-applied or was altered by hand ({difference}): \
         restore a backup, or undo the alteration"
    )]
    Altered {
        /// Which database: a file, or a place on a server.
        database: String,
        /// The first difference.
        difference: String,
    },
    /// The server's address makes no sense. It is not shown, for it may hold a password.
    #[error(
        "the address of the database is not valid: write it as postgres://user:password@host:port/database, \
         with %-escapes for what is neither a letter nor a digit in the password"
    )]
    Address,
    /// The server does not answer.
    #[error(
        "cannot reach {database}: check that the server runs, that host and port are right, and that a firewall \
         lets this machine through"
    )]
    Unreachable {
        /// Which database, on which server.
        database: String,
        /// What the server or the system says.
        #[source]
        cause: Cause,
    },
    /// The server does not let us in.
    #[error("{database} refuses the login: check the user, its password and the server's pg_hba.conf")]
    LoginRefused {
        /// Which database, on which server.
        database: String,
        /// What the server says.
        #[source]
        cause: Cause,
    },
    /// The server has no such database.
    #[error("there is no {database}: create it with CREATE DATABASE, or name another one")]
    NoDatabase {
        /// Which database, on which server.
        database: String,
        /// What the server says.
        #[source]
        cause: Cause,
    },
    /// The user may not do what has to be done.
    #[error(
        "the user may not create tables in {database}: make it the owner of the database, \
         or GRANT it USAGE and CREATE on the schema"
    )]
    Forbidden {
        /// Which database, on which server.
        database: String,
        /// What the server says.
        #[source]
        cause: Cause,
    },
    /// Another node has been at work on the schema for too long.
    #[error("another node is changing the schema of {database}: wait until it is done, and start again")]
    Migrating {
        /// Which database, on which server.
        database: String,
        /// What the server says.
        #[source]
        cause: Cause,
    },
    /// The database cannot hold our text.
    #[error("{database} holds text as {encoding}: create it anew with ENCODING 'UTF8'")]
    Encoding {
        /// Which database, on which server.
        database: String,
        /// What it has instead.
        encoding: String,
    },
    /// The address asks for TLS, and there is none in this program.
    #[error(
        "the address of {database} asks for TLS, which this build does not have: use a release, \
         build with the feature `postgres-tls`, or set sslmode=disable where the network is yours alone"
    )]
    TlsMissing {
        /// Which database, on which server.
        database: String,
    },
}

/// Why a backup was not made. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// There is a file of that name.
    #[error("{} exists already and was left as it is: choose another name", .0.display())]
    Exists(PathBuf),
    /// The copy could not be written.
    #[error("cannot write the backup {}", path.display())]
    Unwritable {
        /// Where to.
        path: PathBuf,
        /// What the system says.
        #[source]
        cause: Cause,
    },
    /// The database is on a server, which has its own ways.
    #[error("a PostgreSQL database is not backed up by this program: use pg_dump, or `companion export`")]
    OnServer,
    /// The database could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

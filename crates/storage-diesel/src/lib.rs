//! Every storage port of Companion over Diesel.
//!
//! [`DieselStorage`] keeps everything in a relational database: SQLite, embedded and in one file, or PostgreSQL, a server
//! that any number of nodes share. It must never know who calls it, what time it is, or what a token looks like, and it
//! never blocks a thread of the async runtime. What it answered is on disk.
//!
//! - Reads run on a pool of connections, each read on one snapshot.
//! - Writes are jobs in a queue; a writer commits them in batches and answers after the commit. What waits for too long is
//!   refused. Writers of several nodes pass one after another, so revisions have no holes anywhere.
//! - A row is private to this crate; it becomes a value of the domain, or is left out and counted.
//! - A sync is staged beside the data, on a connection of its own, compared while others write, and merged in one
//!   transaction.
//! - A server may go away: its connections are replaced, and whatever was asked meanwhile fails in time.
//!
//! | what differs | SQLite | PostgreSQL |
//! |---|---|---|
//! | a writing transaction | begins immediate | locks the world where it changes that, and the one row of the history |
//! | writers | one | one for all, one for what waits for no sync |
//! | a sync is merged | between two batches of the writer | when it has locked the world |
//! | others' changes | are found by asking | come as notifications |
//! | a disk that fails | ends all writing until a restart | is the server's affair |
//!
//! Imports run downwards only; no two modules import each other, neither as files nor as folders:
//!
//! ```text
//! port                              one thin implementation of each port
//! sync, export                      merging a whole world as one change; giving everything out
//! storage                           DieselStorage: its life, and how a read or a write is run
//! reader, writer                    the pool; the queue, the batches and their commits
//! table                             rows, statements, what is staged
//! connection, database, failure     any of the databases, and the places where they differ
//! sqlite, postgres                  raw connections, options, migrations, and what their messages mean
//! schema, inspection, limits, purpose, latest, timeline, error, migration, statistics
//! ```
//!
//! **A column** of `guilds` is named in two files of this crate, in three lines: in the list of `schema.rs`, and where a guild
//! becomes a row and a row a guild, in `table/guilds.rs`. Reading, writing, staging, comparing, merging and exporting follow
//! from the list. Beside it come a migration of the same name in each folder of `migrations/`, and a world of its age in
//! `tests/shared/ages`, which later versions have to read.
//!
//! **A table** takes the same migrations, its place in the list of `schema.rs`, a file in `table/` that says what its rows
//! mean and which statements there are, and its port in `port/`. If a sync carries it, it has a staging table in the list, a
//! field in `table/staging/batch.rs` and its kind in `table/staging/kinds.rs`.
//!
//! **A database** is a folder beside `sqlite` and `postgres`, and a variant of `AnyConnection` and of `Database`. Statements stay
//! within what all databases understand; where they must differ, the difference is a method in `connection.rs` or
//! `database.rs`, or a match on the connection in `table/`.
//!
//! The feature `postgres-tls` adds TLS to PostgreSQL. It compiles a whole OpenSSL, so it is not on by default.
#![warn(missing_docs)]

#[cfg(not(any(feature = "postgres", feature = "sqlite")))]
compile_error!("storage-diesel needs a database: choose the feature `postgres` or `sqlite`");

mod connection;
mod database;
mod error;
mod export;
mod failure;
mod inspection;
mod latest;
mod limits;
mod migration;
mod port;
#[cfg(feature = "postgres")]
mod postgres;
mod purpose;
mod reader;
mod schema;
#[cfg(feature = "sqlite")]
mod sqlite;
mod statistics;
mod storage;
mod sync;
mod table;
mod timeline;
mod writer;

#[cfg(feature = "postgres")]
pub use self::postgres::{AddressFlaw, PostgresOptions};
#[cfg(feature = "sqlite")]
pub use self::sqlite::SqliteOptions;
pub use self::{
    error::{BackupError, OpenError},
    inspection::Inspection,
    statistics::Statistics,
    storage::DieselStorage,
};

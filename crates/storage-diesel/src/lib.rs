//! Every storage port of Companion over Diesel.
//!
//! [`DieselStorage`] stores everything in a relational database: SQLite, embedded in one file, or PostgreSQL, a server
//! shared by any number of nodes. It must never know its callers, the time, or the format of a token, and it never
//! blocks a thread of the async runtime. A write that returned `Ok` is durable.
//!
//! - Reads run on a connection pool, each read in one snapshot.
//! - Writes are jobs in a queue. A writer commits them in batches and answers after the commit; a job that waits too
//!   long is rejected. Writers of several nodes are serialised, so revisions are gap-free across nodes.
//! - Rows are private to this crate. A row is converted to a domain value, or skipped and counted if it is invalid.
//! - A sync is staged in temporary tables of its own connection, compared while others write, and merged in one
//!   transaction.
//! - Connections lost with a server are replaced. Calls made during the outage fail within a deadline.
//!
//! | what differs | SQLite | PostgreSQL |
//! |---|---|---|
//! | a writing transaction | begins immediate | locks the world if it changes it, then the single history row |
//! | writer threads | one | one for everything, one for writes that must not wait for a sync |
//! | a sync is merged | between two batches of the writer | once it holds the world lock |
//! | changes of other processes | are found by polling | arrive as notifications |
//! | a disk failure | stops all writes until a restart | is handled by the server |
//!
//! Imports run downwards only; no two folders import each other:
//!
//! ```text
//! port                              the implementation of each port
//! sync, export                      merging a whole world as one change; exporting everything
//! storage                           DieselStorage: its lifecycle, and how it runs reads and writes
//! reader, writer                    the pool; the queue, the batches and their commits
//! table                             rows, statements, staging tables
//! migration, inspection             bringing the tables up to date; looking at them without a change
//! connection, database, failure     either database, and the operations in which they differ
//! sqlite, postgres                  raw connections, options, migrations, and how their messages are classified
//! schema, limits, revision, error
//! ```
//!
//! **A column** of `guilds` is named in two files of this crate: in the list of `schema.rs`, and beside its field in
//! `table/values.rs`. Reading, writing, staging, comparing, merging and exporting are derived from
//! the list. It also needs a migration of the same name in each folder of `migrations/`, the new `POSTGRES_DIGEST` below
//! the list, and statements in `tests/storage/shared/ages` that fill the tables of its version, which later versions
//! must be able to read.
//!
//! **A table** needs the same migrations, an entry in the list of `schema.rs`, its values in `table/values.rs`, and
//! its statements in `port/`, or in `table/` if several ports or syncs use them. If a sync carries it, the entry also names
//! its staging table and its record; finding, putting, removing, syncing and exporting the record follow from it.
//!
//! **A database** is a folder beside `sqlite` and `postgres`, and a variant of `AnyConnection` and of `Database`.
//! Statements use the SQL that all databases share. A difference is a method in `connection.rs` or `database.rs`, or a
//! match on the connection in `table/`.
//!
//! The feature `postgres-tls` adds TLS to PostgreSQL. It compiles OpenSSL from source, so it is off by default.
#![warn(missing_docs)]

mod connection;
mod database;
mod error;
mod export;
mod failure;
mod inspection;
mod limits;
mod migration;
mod port;
mod postgres;
mod reader;
mod revision;
mod schema;
mod sqlite;
mod storage;
mod sync;
mod table;
mod writer;

pub use self::{
    error::{BackupError, OpenError},
    inspection::Inspection,
    limits::Limits,
    postgres::{AddressError, PostgresOptions},
    sqlite::SqliteOptions,
    storage::{DieselStorage, Statistics},
};

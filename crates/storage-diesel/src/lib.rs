//! Every storage port of Companion over Diesel.
//!
//! [`DieselStorage`] keeps everything in a relational database: for now SQLite, embedded and in one file. It must
//! never know who calls it, what time it is, or what a token looks like, and it never blocks a thread of the async
//! runtime. What it answered is on disk.
//!
//! - Reads run on a pool of connections, each read on one snapshot.
//! - Writes are jobs for one writer, which commits what is waiting in one transaction and answers after the commit.
//! - A row is private to this crate; it becomes a value of the domain or an error.
//! - A sync is staged beside the data and then merged in one job.
//!
//! To add a table: a migration in `migrations/`, its columns in `schema.rs`, its row in `row/`, its port in `store/`;
//! if a sync carries it, a staging table in `sync/staging.rs` and a merge in `sync/kinds.rs`. To add a database: a
//! variant of `AnyConnection` and a module beside `sqlite`. Statements stay within what
//! all databases understand; where they must differ, the difference is a method in `connection.rs`.
#![warn(missing_docs)]

#[cfg(not(feature = "sqlite"))]
compile_error!("storage-diesel needs a database: choose the feature `sqlite`");

mod change;
mod connection;
mod error;
mod export;
mod reader;
mod row;
mod schema;
mod sqlite;
mod statistics;
mod storage;
mod store;
mod sync;
mod writer;

pub use self::{
    error::{BackupError, OpenError},
    sqlite::SqliteOptions,
    statistics::Statistics,
    storage::DieselStorage,
};

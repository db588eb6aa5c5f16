//! What is particular to SQLite: the file, its settings, its migrations and its way of saying what is wrong.

pub(crate) mod backup;
pub(crate) mod connect;
pub(crate) mod fault;
mod identity;
pub(crate) mod migration;
mod options;
#[cfg(test)]
mod schema_test;

pub(crate) use self::connect::SqliteDatabase;
pub use self::options::SqliteOptions;

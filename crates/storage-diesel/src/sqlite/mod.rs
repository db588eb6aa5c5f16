//! What is particular to SQLite: the file, its settings, its migrations and its way of saying what is wrong.

mod backup;
pub(crate) mod connect;
pub(crate) mod fault;
mod identity;
mod inspection;
pub(crate) mod migration;
mod options;
mod soundness;

pub use self::options::SqliteOptions;

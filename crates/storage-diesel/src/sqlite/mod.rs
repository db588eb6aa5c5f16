//! What is specific to SQLite: the file, its settings, migrations and error messages.

pub(crate) mod backup;
pub(crate) mod connect;
pub(crate) mod fault;
mod identity;
pub(crate) mod migration;
mod options;
mod soundness;
pub(crate) mod transaction;

pub use self::options::SqliteOptions;

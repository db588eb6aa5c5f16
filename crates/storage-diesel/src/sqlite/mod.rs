//! What is specific to SQLite: the file, its settings, migrations and error messages.

mod backup;
pub(crate) mod connect;
pub(crate) mod fault;
mod identity;
mod inspection;
pub(crate) mod migration;
mod options;
mod soundness;

pub use self::options::SqliteOptions;

//! What is specific to PostgreSQL: the server, its sessions, migrations, notifications and error messages.

mod address;
mod connect;
pub(crate) mod fault;
mod inspection;
pub(crate) mod migration;
pub(crate) mod notification;
mod options;
pub(crate) mod timeline;
pub(crate) mod transaction;

pub use self::{address::AddressError, options::PostgresOptions};

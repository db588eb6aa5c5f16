//! What is particular to PostgreSQL: the server, its sessions, its migrations, its notifications and its way of saying what
//! is wrong.

mod address;
mod connect;
pub(crate) mod fault;
mod inspection;
pub(crate) mod migration;
pub(crate) mod notification;
mod options;
pub(crate) mod timeline;
pub(crate) mod transaction;

pub use self::{address::AddressFlaw, options::PostgresOptions};

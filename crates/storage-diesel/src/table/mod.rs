//! The tables: conversions between rows and domain values, and the statements that several ports or a sync use.
//!
//! Statements are plain functions over a connection, or over a [`history::Write`] if they note changes. Ports combine
//! them with their own.
//!
//! Rows are looked up by key with [`row::Columns::stored`] or `get_result`, never with `first`: that binds a limit, and
//! SQLite plans a statement again whenever such a parameter is bound. [`column::any_of`] compares with a list of ids.
//! Shared parts of all writes are in [`row`] and [`history`]; [`records`] has what every kind of record has in common.

pub(crate) mod clusters;
pub(crate) mod column;
pub(crate) mod feedback;
pub(crate) mod grants;
pub(crate) mod guilds;
pub(crate) mod history;
pub(crate) mod records;
pub(crate) mod row;
pub(crate) mod staging;
pub(crate) mod subscriptions;
pub(crate) mod unreadable;
mod values;

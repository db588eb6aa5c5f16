//! The tables: how their rows become values of the domain, and every statement on them.
//!
//! Statements are plain functions over a connection, or over a [`history::Write`] where they note what they change. A port
//! puts them together.
//!
//! What is found by its key is asked for with `get_result`, never with `first`: that adds a limit as a parameter, and SQLite
//! plans a statement anew whenever such a parameter is set. For lists of ids there is [`column::any_of`]; what every
//! write does is in [`row`] and [`history`].

pub(crate) mod blocked;
pub(crate) mod clusters;
pub(crate) mod column;
pub(crate) mod feedback;
pub(crate) mod grants;
pub(crate) mod guilds;
pub(crate) mod history;
pub(crate) mod members;
pub(crate) mod platform;
pub(crate) mod row;
pub(crate) mod sessions;
pub(crate) mod staff;
pub(crate) mod staging;
pub(crate) mod subscriptions;
pub(crate) mod team;
pub(crate) mod unreadable;

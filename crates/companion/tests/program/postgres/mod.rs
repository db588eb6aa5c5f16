//! The program on PostgreSQL: its commands, moving there and back, and several nodes at once.
//!
//! A module of this name is left out where there is no PostgreSQL.

mod commands;
pub(crate) mod database;
mod moving;
mod nodes;
mod psql;
pub(crate) use crate::stage;

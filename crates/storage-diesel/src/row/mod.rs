//! Rows, and their conversion to and from the domain's values.
//!
//! A value has exactly one spelling as a row, so two rows are equal when their values are: that is how a merge tells
//! what has changed.

pub(crate) mod cluster;
pub(crate) mod feedback;
pub(crate) mod grant;
pub(crate) mod guild;
pub(crate) mod member;
pub(crate) mod session;
pub(crate) mod snowflake;
pub(crate) mod staff;
pub(crate) mod subscription;
pub(crate) mod team;
pub(crate) mod unreadable;

use crate::failure::RowError;

/// Says which column holds what could not be read, and nothing of what it holds.
pub(crate) fn makes_no_sense<E>(table: &'static str, column: &'static str) -> impl FnOnce(E) -> RowError {
    move |_| RowError { table, column }
}

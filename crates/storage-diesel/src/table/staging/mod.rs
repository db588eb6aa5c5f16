//! Staging: temporary tables of one connection, and the statements that merge them.
//!
//! A staging table has the columns of the row type of its table. A record replaces an earlier one with the same key. A
//! second table holds the rows in which the two differ.

mod batch;
mod kinds;
mod merge;

pub(crate) use self::{
    batch::RecordBatch,
    kinds::{first_unknown_guild, merge_of, write},
    merge::{Merge, Scope, analyse, create, staged_tables},
};

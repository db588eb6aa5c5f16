//! What a sync stages: temporary tables of one connection, and the statements that merge them.
//!
//! Each staging table has the columns of the rows of the table that it will be merged into. A record takes the place of an
//! earlier one with the same key. Beside it is a table of the rows in which the two differ.

mod batch;
mod kinds;
mod merge;

pub(crate) use self::{
    batch::RecordBatch,
    kinds::{first_unknown_guild, merge_of, table_of, write},
    merge::{Merge, Scope, analyse, create, staged_tables},
};

//! Replacing a row, with a text that never changes, so that each connection prepares the statement once.
//!
//! Diesel's own update is parsed and planned anew each time, since it could set any of the columns.

use super::description::{Table, push_name};
use crate::connection::{AnyBackend, AnyConnection};
use diesel::{
    QueryResult, RunQueryDsl,
    query_builder::{AstPass, QueryFragment, QueryId},
};
use std::iter;

/// A row whose values can be added to a statement.
pub(crate) trait Bind {
    /// Adds the value of a column.
    fn bind<'b>(&'b self, column: &str, out: AstPass<'_, 'b, AnyBackend>) -> QueryResult<()>;
}

/// Sets all columns of the row that has the same key.
pub(crate) struct Update<'a, R> {
    pub(crate) table: &'static Table,
    pub(crate) row: &'a R,
}

impl<R: Bind> QueryFragment<AnyBackend> for Update<'_, R> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, AnyBackend>) -> QueryResult<()> {
        let Self { table, row } = self;
        let values = table.values().zip(iter::once(" SET ").chain(iter::repeat(", ")));
        let keys = table.keys.iter().copied().zip(iter::once(" WHERE ").chain(iter::repeat(" AND ")));
        out.push_sql("UPDATE ");
        push_name(&mut out, table.name);
        for (column, before) in values.chain(keys) {
            out.push_sql(before);
            push_name(&mut out, column);
            out.push_sql(" = ");
            row.bind(column, out.reborrow())?;
        }
        Ok(())
    }
}

/// It is known by its text.
impl<R> QueryId for Update<'_, R> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<R> RunQueryDsl<AnyConnection> for Update<'_, R> {}

//! Reading the row that has a key.
//!
//! Diesel puts the text of a statement together each time, also to find the one that is prepared already, and asks every
//! column for its name. Here a text is a few pieces.

use super::{
    description::{Table, push_name},
    row_key::RowKey,
};
use crate::connection::{AnyBackend, AnyConnection};
use diesel::{
    QueryResult, RunQueryDsl,
    query_builder::{AstPass, Query, QueryFragment, QueryId},
};
use std::{iter, marker::PhantomData};

/// The columns of that row, which have the type `T`.
pub(super) struct Stored<'a, T> {
    table: &'static Table,
    key: &'a RowKey,
    sql_type: PhantomData<T>,
}

impl<'a, T> Stored<'a, T> {
    pub(super) const fn by(table: &'static Table, key: &'a RowKey) -> Self {
        Self { table, key, sql_type: PhantomData }
    }
}

impl<T> QueryFragment<AnyBackend> for Stored<'_, T> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, AnyBackend>) -> QueryResult<()> {
        let Self { table, key, .. } = self;
        for (column, before) in table.names().zip(iter::once("SELECT ").chain(iter::repeat(", "))) {
            out.push_sql(before);
            push_name(&mut out, column);
        }
        out.push_sql(" FROM ");
        push_name(&mut out, table.name);
        let keys = table.keys.iter().zip(key.parts());
        for ((column, part), before) in keys.zip(iter::once(" WHERE ").chain(iter::repeat(" AND "))) {
            out.push_sql(before);
            push_name(&mut out, column);
            out.push_sql(" = ");
            part.bind(out.reborrow())?;
        }
        Ok(())
    }
}

/// It is known by its text.
impl<T> QueryId for Stored<'_, T> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<T> Query for Stored<'_, T> {
    type SqlType = T;
}

impl<T> RunQueryDsl<AnyConnection> for Stored<'_, T> {}

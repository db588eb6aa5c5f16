//! The step that every write takes in the history, with a text that never changes, so that each connection prepares it once.

use diesel::{
    QueryResult, RunQueryDsl,
    backend::Backend,
    query_builder::{AstPass, Query, QueryFragment, QueryId},
    serialize::ToSql,
    sql_types::{BigInt, HasSqlType},
};
use std::marker::PhantomData;

/// Makes room for so many changes, and returns what is asked of the history then, which has the type `T`.
pub(super) struct Advance<T> {
    count: i64,
    returning: &'static [&'static str],
    sql_type: PhantomData<T>,
}

impl<T> Advance<T> {
    pub(super) const fn by(count: i64, returning: &'static [&'static str]) -> Self {
        Self { count, returning, sql_type: PhantomData }
    }
}

impl<T, DB> QueryFragment<DB> for Advance<T>
where
    DB: Backend + HasSqlType<BigInt>,
    i64: ToSql<BigInt, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("UPDATE history SET revision = revision + ");
        out.push_bind_param::<BigInt, _>(&self.count)?;
        for (place, value) in self.returning.iter().enumerate() {
            out.push_sql(if place == 0 { " RETURNING " } else { ", " });
            out.push_sql(value);
        }
        Ok(())
    }
}

/// It is known by its text.
impl<T> QueryId for Advance<T> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<T> Query for Advance<T> {
    type SqlType = T;
}

impl<T, C> RunQueryDsl<C> for Advance<T> {}

//! A column compared with a list of ids, in few forms, so that each connection prepares the statement once.
//!
//! Diesel's own comparison with a list is parsed and planned anew each time, since its text could be any length. Of a listing
//! that was most of the work.

use diesel::{
    QueryResult,
    backend::Backend,
    expression::{AppearsOnTable, Expression, SelectableExpression, ValidGrouping, is_aggregate},
    query_builder::{AstPass, QueryFragment, QueryId},
    serialize::ToSql,
    sql_types::{BigInt, Bool, HasSqlType},
};

/// Whether a column has one of these values, of which there is at least one.
pub(crate) struct AnyOf<C> {
    column: C,
    values: Vec<i64>,
}

/// Whether `column` has one of these values.
pub(crate) fn any_of<C: Expression<SqlType = BigInt>>(column: C, values: &[i64]) -> AnyOf<C> {
    // The last one again and again changes nothing but the length, which is a power of two then.
    let again = values.last().map_or(0, |_| values.len().next_power_of_two() - values.len());
    let padding = values.last().into_iter().cycle().take(again);
    AnyOf { column, values: values.iter().chain(padding).copied().collect() }
}

impl<C, DB> QueryFragment<DB> for AnyOf<C>
where
    C: QueryFragment<DB>,
    DB: Backend + HasSqlType<BigInt>,
    i64: ToSql<BigInt, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.column.walk_ast(out.reborrow())?;
        out.push_sql(" IN (");
        for (place, value) in self.values.iter().enumerate() {
            if place > 0 {
                out.push_sql(", ");
            }
            out.push_bind_param::<BigInt, _>(value)?;
        }
        out.push_sql(")");
        Ok(())
    }
}

/// It is known by its text, which says how long the list is.
impl<C> QueryId for AnyOf<C> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<C> Expression for AnyOf<C> {
    type SqlType = Bool;
}

impl<C: AppearsOnTable<T>, T> AppearsOnTable<T> for AnyOf<C> {}

impl<C: SelectableExpression<T>, T> SelectableExpression<T> for AnyOf<C> {}

impl<C> ValidGrouping<()> for AnyOf<C> {
    type IsAggregate = is_aggregate::No;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::guilds;

    #[test]
    fn lists_have_few_lengths_and_the_same_values() {
        for (values, padded) in [
            (vec![7], vec![7]),
            (vec![1, 2, 3], vec![1, 2, 3, 3]),
            (vec![1, 2, 3, 4], vec![1, 2, 3, 4]),
            ((1..=10).collect(), (1..=16).map(|value: i64| value.min(10)).collect()),
            (vec![], vec![]),
        ] {
            assert_eq!(any_of(guilds::id, &values).values, padded);
        }
    }
}

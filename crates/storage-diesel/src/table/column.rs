//! Values as columns have them.

use companion_domain::model::{GuildId, Invalid, RoleId, UserId};
use diesel::{
    QueryResult,
    backend::Backend,
    expression::{AppearsOnTable, Expression, SelectableExpression, ValidGrouping, is_aggregate},
    query_builder::{AstPass, QueryFragment, QueryId},
    serialize::ToSql,
    sql_types::{BigInt, Bool, HasSqlType},
};
use std::{fmt::Display, str::FromStr};

/// How many values one statement compares with. Databases limit it, and a longer list gains nothing.
pub(crate) const AT_ONCE: usize = 500;

/// A platform id of any resource.
pub(crate) trait Snowflake: Copy + Display + FromStr<Err = Invalid> {
    fn of(number: u64) -> Result<Self, Invalid>;
    fn number(self) -> u64;
}

macro_rules! snowflake {
    ($($id:ty),+) => {
        $(impl Snowflake for $id {
            fn of(number: u64) -> Result<Self, Invalid> {
                Self::new(number)
            }

            fn number(self) -> u64 {
                self.get()
            }
        })+
    };
}

snowflake!(GuildId, RoleId, UserId);

/// The id as a column holds it.
pub(crate) fn to_column(id: impl Snowflake) -> i64 {
    id.number().cast_signed()
}

/// The id that a column holds.
pub(crate) fn from_column<I: Snowflake>(column: &i64) -> Result<I, Invalid> {
    I::of(column.cast_unsigned())
}

/// Several ids in one column, in their order.
pub(crate) fn to_text(ids: &[impl Snowflake]) -> String {
    let words: Vec<_> = ids.iter().map(ToString::to_string).collect();
    words.join(" ")
}

/// The ids that a column of several holds.
pub(crate) fn from_text<I: Snowflake>(text: &str) -> Result<Vec<I>, Invalid> {
    text.split_terminator(' ').map(str::parse).collect()
}

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
    fn an_id_beyond_what_a_signed_number_holds_comes_back() {
        for number in [1, u64::MAX / 2, 1 << 63, u64::MAX] {
            let id = UserId::new(number).unwrap();
            assert_eq!(from_column::<UserId>(&to_column(id)).unwrap(), id);
        }
        assert!(from_column::<UserId>(&0).is_err());
    }

    #[test]
    fn lists_of_ids_come_back_in_their_order() {
        for list in [vec![], vec![5], vec![3, u64::MAX, 1]] {
            let ids: Vec<_> = list.into_iter().map(|number| RoleId::new(number).unwrap()).collect();
            assert_eq!(from_text::<RoleId>(&to_text(&ids)).unwrap(), ids);
        }
        assert!(from_text::<RoleId>("1  2").is_err());
    }

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

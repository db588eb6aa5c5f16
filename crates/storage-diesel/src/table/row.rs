//! Rows: plain data, made from the list of tables. What they mean is said in the file of each table.
//!
//! A value has exactly one spelling as a row, so two rows are equal when their values are: that is how a write and a merge
//! tell what has changed.

use super::{
    description::Table,
    update::{Bind, Update},
};
use crate::{
    connection::{AnyBackend, AnyConnection},
    failure::RowError,
    schema::{self, columns, tables},
};
use companion_domain::change::Tally;
use diesel::{
    AsChangeset, Insertable, OptionalExtension, QueryDsl, QueryResult, Queryable, RunQueryDsl, Selectable,
    SelectableHelper, query_builder::AstPass, sql_types,
};
use std::fmt;

pub(crate) trait Row: Sized {
    const TABLE: Table;

    fn key(&self) -> RowKey;

    /// Writes the row, unless it is there already, and says what that did.
    fn put(&self, db: &mut AnyConnection) -> QueryResult<Tally>;
}

macro_rules! rows {
    ($($table:ident $keys:tt $rows:tt $columns:tt $(+ $beside:tt)?)+) => {
        $(rows! { @row $table $keys $rows $columns $columns })+
    };
    (@row $table:ident $keys:tt [] $columns:tt $same:tt) => {};
    (
        @row $table:ident ($($key:ident),+) [$row:ident $(, $staged:ident)?]
        { $($column:ident -> $sql:ident $(<$inner:ident>)?,)+ } $columns:tt
    ) => {
        #[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, AsChangeset)]
        #[diesel(table_name = schema::$table, treat_none_as_null = true, treat_none_as_default_value = false)]
        pub(crate) struct $row {
            $(pub(crate) $column: value::$sql $(<value::$inner>)?,)+
        }

        impl Bind for $row {
            fn bind<'b>(&'b self, column: &str, mut out: AstPass<'_, 'b, AnyBackend>) -> QueryResult<()> {
                match column {
                    $(stringify!($column) => {
                        out.push_bind_param::<sql_types::$sql $(<sql_types::$inner>)?, _>(&self.$column)
                    })+
                    _ => Ok(()),
                }
            }
        }

        impl Row for $row {
            const TABLE: Table = Table {
                name: stringify!($table),
                keys: &[$(stringify!($key)),+],
                columns: columns!($columns),
                staged: concat!($(stringify!($staged))?),
            };

            fn key(&self) -> RowKey {
                RowKey::from(($(&self.$key,)+))
            }

            fn put(&self, db: &mut AnyConnection) -> QueryResult<Tally> {
                let target = schema::$table::table.find(($(&self.$key),+));
                let kept: QueryResult<Self> = target.select(Self::as_select()).get_result(db);
                match kept.optional()? {
                    Some(kept) if kept == *self => Ok(Tally::NOTHING),
                    Some(_) => {
                        Update { row: self, table: &Self::TABLE }.execute(db)?;
                        Ok(Tally::CHANGED)
                    }
                    None => {
                        diesel::insert_into(schema::$table::table).values(self).execute(db)?;
                        Ok(Tally::ADDED)
                    }
                }
            }
        }
    };
}

tables!(rows);

/// The types of columns, as Rust has them.
mod value {
    pub(super) type BigInt = i64;
    pub(super) type Bool = bool;
    pub(super) type Text = String;
    pub(super) type Binary = Vec<u8>;
    pub(super) type Nullable<T> = Option<T>;
}

/// Reads a column of a row, or returns early with the name of the one that makes no sense.
macro_rules! read {
    ($row:ident.$column:ident, $read:expr) => {
        $crate::table::row::read_column(&$row, &$row.$column, stringify!($column), $read)?
    };
}

pub(crate) use read;

/// Says which column could not be read, and nothing of what it holds.
pub(crate) fn read_column<R: Row, C, T, E>(
    _: &R,
    column: &C,
    name: &'static str,
    read: impl FnOnce(&C) -> Result<T, E>,
) -> Result<T, RowError> {
    read(column).map_err(|_| RowError { table: R::TABLE.name, column: name })
}

/// How long a part of a key is when it is shown, should it be what makes no sense.
const MAX_SHOWN: usize = 100;

/// What names a row within its table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowKey(KeyPart, Option<KeyPart>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum KeyPart {
    Id(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&i64> for KeyPart {
    fn from(id: &i64) -> Self {
        Self::Id(*id)
    }
}

impl From<&String> for KeyPart {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<&Vec<u8>> for KeyPart {
    fn from(bytes: &Vec<u8>) -> Self {
        Self::Bytes(bytes.clone())
    }
}

impl<A: Into<KeyPart>> From<(A,)> for RowKey {
    fn from((one,): (A,)) -> Self {
        Self(one.into(), None)
    }
}

impl<A: Into<KeyPart>, B: Into<KeyPart>> From<(A, B)> for RowKey {
    fn from((one, other): (A, B)) -> Self {
        Self(one.into(), Some(other.into()))
    }
}

impl fmt::Display for KeyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "{}", id.cast_unsigned()),
            Self::Text(text) => {
                let mut characters = text.chars().take(MAX_SHOWN).flat_map(char::escape_debug);
                characters.try_for_each(|char| write!(f, "{char}"))
            }
            Self::Bytes(bytes) => bytes.iter().take(MAX_SHOWN).try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

impl fmt::Display for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(one, other) = self;
        write!(f, "{one}")?;
        other.iter().try_for_each(|other| write!(f, " {other}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_told_on_one_line_of_bounded_length() {
        let text = |text: &str| text.to_owned();
        assert_eq!(RowKey::from((&-1,)).to_string(), u64::MAX.to_string());
        assert_eq!(RowKey::from((&1, &2)).to_string(), "1 2");
        assert_eq!(RowKey::from((&7, &text("a\nb"))).to_string(), "7 a\\nb");
        assert_eq!(RowKey::from((&vec![0, 255],)).to_string(), "00ff");
        assert_eq!(RowKey::from((&"a".repeat(5000),)).to_string().len(), MAX_SHOWN);
    }
}

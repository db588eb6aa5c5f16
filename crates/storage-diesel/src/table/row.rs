//! Row types, and how they are found, read and written.

use crate::{
    connection::{AnyBackend, AnyConnection},
    failure::RowError,
    schema::{self, Column, ColumnType, columns, tables},
};
use companion_domain::change::Tally;
use diesel::{
    AsChangeset, Insertable, OptionalExtension, QueryResult, Queryable, RunQueryDsl, Selectable,
    query_builder::{AstPass, Query, QueryFragment, QueryId},
    sql_types::{self, BigInt, Binary, Text},
};
use std::{fmt, iter, marker::PhantomData};

pub(crate) trait Row: Sized {
    const TABLE: Table;

    fn key(&self) -> RowKey;

    /// Returns the row with this key.
    fn stored(db: &mut AnyConnection, key: impl Into<RowKey>) -> QueryResult<Option<Self>>;

    /// Writes the row unless an equal one is stored, and returns what changed.
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

            fn stored(db: &mut AnyConnection, key: impl Into<RowKey>) -> QueryResult<Option<Self>> {
                let key = key.into();
                let stored = Stored::<($(sql_types::$sql $(<sql_types::$inner>)?,)+)>::by(&Self::TABLE, &key);
                stored.get_result(db).optional()
            }

            fn put(&self, db: &mut AnyConnection) -> QueryResult<Tally> {
                match Self::stored(db, self.key())? {
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

/// Rust types of the SQL types.
mod value {
    pub(super) type BigInt = i64;
    pub(super) type Bool = bool;
    pub(super) type Text = String;
    pub(super) type Binary = Vec<u8>;
    pub(super) type Nullable<T> = Option<T>;
}

/// Reads a column of a row, or returns early with an error that names the invalid column.
macro_rules! read {
    ($row:ident.$column:ident, $read:expr) => {
        $crate::table::row::read_column(&$row, &$row.$column, stringify!($column), $read)?
    };
}

pub(crate) use read;

/// Maps an error to the name of the column, without its content.
pub(crate) fn read_column<R: Row, C, T, E>(
    _: &R,
    column: &C,
    name: &'static str,
    read: impl FnOnce(&C) -> Result<T, E>,
) -> Result<T, RowError> {
    read(column).map_err(|_| RowError { table: R::TABLE.name, column: name })
}

/// Maximum length of a displayed key part, because an invalid key may be long.
const MAX_SHOWN: usize = 100;

/// The primary key of a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowKey(KeyPart, Option<KeyPart>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum KeyPart {
    Id(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl RowKey {
    pub(super) fn parts(&self) -> impl Iterator<Item = &KeyPart> {
        let Self(one, other) = self;
        [one].into_iter().chain(other)
    }
}

impl KeyPart {
    /// Binds the part to a statement.
    pub(super) fn bind<'b>(&'b self, mut out: AstPass<'_, 'b, AnyBackend>) -> QueryResult<()> {
        match self {
            Self::Id(id) => out.push_bind_param::<BigInt, _>(id),
            Self::Text(text) => out.push_bind_param::<Text, _>(text),
            Self::Bytes(bytes) => out.push_bind_param::<Binary, _>(bytes),
        }
    }
}

impl From<i64> for KeyPart {
    fn from(id: i64) -> Self {
        Self::Id(id)
    }
}

impl From<&str> for KeyPart {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&[u8]> for KeyPart {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_owned())
    }
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

/// A table as named in SQL. The columns are those of the row type, including the keys.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) keys: &'static [&'static str],
    pub(crate) columns: &'static [Column],
    /// The staging table of its rows. Empty if no sync carries them.
    pub(crate) staged: &'static str,
}

impl Table {
    /// Returns the column names of the row type.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.columns.iter().map(|column| column.name)
    }

    /// Returns the type of a column of the row type.
    pub(crate) fn type_of(&self, column: &str) -> Option<ColumnType> {
        self.columns.iter().find(|known| known.name == column).map(|known| known.holds)
    }

    /// Returns the column names of the row type, without the keys.
    pub(crate) fn values(&self) -> impl Iterator<Item = &'static str> {
        let keys = self.keys;
        self.names().filter(move |name| !keys.contains(name))
    }

    /// Returns the name of the table of staged rows that differ from the stored ones, each with its operation.
    pub(crate) fn differing(&self) -> String {
        format!("{}_differing", self.staged)
    }
}

/// Adds a quoted identifier. Identifiers of this crate contain no quotes, so there is nothing to escape.
pub(super) fn push_name(out: &mut AstPass<'_, '_, AnyBackend>, name: &str) {
    out.push_sql("\"");
    out.push_sql(name);
    out.push_sql("\"");
}

/// Selects the columns of the row with this key, which have the SQL type `T`.
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

/// Cached by its SQL text.
impl<T> QueryId for Stored<'_, T> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<T> Query for Stored<'_, T> {
    type SqlType = T;
}

impl<T> RunQueryDsl<AnyConnection> for Stored<'_, T> {}

/// A row whose values can be bound to a statement.
pub(crate) trait Bind {
    /// Binds the value of a column.
    fn bind<'b>(&'b self, column: &str, out: AstPass<'_, 'b, AnyBackend>) -> QueryResult<()>;
}

/// Updates all columns of the row with the same key.
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

/// Cached by its SQL text.
impl<R> QueryId for Update<'_, R> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<R> RunQueryDsl<AnyConnection> for Update<'_, R> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_a_key_on_one_line_of_bounded_length() {
        let text = |text: &str| text.to_owned();
        assert_eq!(RowKey::from((&-1,)).to_string(), u64::MAX.to_string());
        assert_eq!(RowKey::from((&1, &2)).to_string(), "1 2");
        assert_eq!(RowKey::from((&7, &text("a\nb"))).to_string(), "7 a\\nb");
        assert_eq!(RowKey::from((&vec![0, 255],)).to_string(), "00ff");
        assert_eq!(RowKey::from((&"a".repeat(5000),)).to_string().len(), MAX_SHOWN);
    }
}

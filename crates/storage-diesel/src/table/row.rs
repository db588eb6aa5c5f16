//! Row types, and how they are found, read and written.

use super::unreadable::Unreadable;
use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
    schema::{self, Column, ColumnType, columns, tables},
};
use companion_domain::change::{Key, Kind, Subject, Tally};
use diesel::{
    AsChangeset, Insertable, PgConnection, QueryResult, Queryable, RunQueryDsl, SqliteConnection,
    pg::Pg,
    query_builder::{AstPass, Query, QueryFragment, QueryId},
    query_dsl::methods::LoadQuery,
    sql_types::{self, BigInt, Binary, Bool, Nullable, Text},
    sqlite::Sqlite,
};
use std::{fmt, marker::PhantomData, sync::LazyLock};

/// A row type: the columns of a table.
pub(crate) trait Columns: Clone + 'static {
    const TABLE: &'static Table;

    /// Returns the values of all columns.
    fn into_values(self) -> Vec<Value>;

    /// Returns the rows of a statement that selects all columns.
    fn load<I: Identity>(db: &mut AnyConnection, sql: &Sql, values: Vec<Value>) -> QueryResult<Vec<Self>>;

    fn key(&self) -> RowKey {
        Self::TABLE.key_of(&self.clone().into_values())
    }

    /// Returns the rows that the rest of a statement, after the columns and the table, selects.
    fn select(db: &mut AnyConnection, rest: &str, values: Vec<Value>) -> QueryResult<Vec<Self>> {
        Self::load::<()>(db, &Sql::new(&format!("{} {rest}", Self::TABLE.select())), values)
    }

    /// Returns the row with this key.
    fn stored(db: &mut AnyConnection, key: &Key) -> QueryResult<Option<Self>> {
        let RowKey(key) = RowKey::from(key);
        Ok(Self::load::<(Self, Select)>(db, &Self::TABLE.statements.select, key)?.pop())
    }

    /// Writes the row unless an equal one is stored, and returns what changed.
    fn put(self, db: &mut AnyConnection) -> QueryResult<Tally> {
        let (mut values, keys) = (self.into_values(), Self::TABLE.keys.len());
        let Statements { update, insert_new, .. } = &*Self::TABLE.statements;
        values.rotate_left(keys);
        if values.len() > keys && update.execute::<(Self, Update)>(&values, db)? > 0 {
            return Ok(Tally::CHANGED);
        }
        values.rotate_right(keys);
        let added = insert_new.execute::<(Self, InsertNew)>(&values, db)?;
        Ok(if added > 0 { Tally::ADDED } else { Tally::NOTHING })
    }
}

/// A row that holds a domain value.
pub(crate) trait Row: Columns {
    type Value;

    fn of(value: &Self::Value) -> Self;

    /// Converts the row. A part that a caller can do without is left out, and reported to `unreadable`.
    fn read(&self, unreadable: &Unreadable) -> Result<Self::Value, RowError>;

    /// Returns the value with this key, or `None` if its row is unreadable.
    fn find(db: &mut AnyConnection, key: &Key, unreadable: &Unreadable) -> QueryResult<Option<Self::Value>> {
        Ok(Self::stored(db, key)?.and_then(|row| unreadable.one(&row)))
    }

    /// Returns the value with this key. An unreadable row is an error, because to take it for absent would grant access
    /// or overwrite it.
    fn require(
        db: &mut AnyConnection,
        key: &Key,
        unreadable: &Unreadable,
    ) -> Result<Option<Self::Value>, WorkError> {
        Ok(Self::stored(db, key)?.map(|row| row.read(unreadable)).transpose()?)
    }

    /// Returns the readable values among the rows that the rest of a statement selects.
    fn all(
        db: &mut AnyConnection,
        unreadable: &Unreadable,
        rest: &str,
        values: Vec<Value>,
    ) -> QueryResult<Vec<Self::Value>> {
        Ok(unreadable.all(&Self::select(db, rest, values)?))
    }
}

macro_rules! rows {
    ($($table:ident $keys:tt $rows:tt $columns:tt $(+ $beside:tt)?)+) => {
        $(rows! { @row $table $keys $rows $columns $columns })+
    };
    (@row $table:ident $keys:tt [] $columns:tt $same:tt) => {};
    (
        @row $table:ident ($($key:ident),+) [$row:ident $(, $staged:ident $($record:tt)*)?]
        { $($column:ident -> $sql:ident $(<$inner:ident>)?,)+ } $columns:tt
    ) => {
        #[derive(Debug, Clone, Queryable, Insertable, AsChangeset)]
        #[diesel(table_name = schema::$table, treat_none_as_null = true, treat_none_as_default_value = false)]
        pub(crate) struct $row {
            $(pub(crate) $column: value::$sql $(<value::$inner>)?,)+
        }

        impl Columns for $row {
            const TABLE: &'static Table = {
                static TABLE: Table = Table {
                    name: stringify!($table),
                    keys: &[$(stringify!($key)),+],
                    columns: columns!($columns),
                    staged: concat!($(stringify!($staged))?),
                    statements: LazyLock::new(|| Statements::of(&TABLE)),
                };
                &TABLE
            };

            fn into_values(self) -> Vec<Value> {
                vec![$(rows!(@value self.$column, $sql $($inner)?)),+]
            }

            fn load<I: Identity>(
                db: &mut AnyConnection,
                sql: &Sql,
                values: Vec<Value>,
            ) -> QueryResult<Vec<Self>> {
                Statement::<($(sql_types::$sql $(<sql_types::$inner>)?,)+), I>::new(sql, &values).rows(db)
            }
        }
    };
    (@value $value:expr, Nullable $sql:ident) => { Value::$sql($value) };
    (@value $value:expr, $sql:ident) => { Value::$sql(Some($value)) };
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

/// Reads a column of a row, as a [`Field`] or by a function, or returns early with an error that names the column.
macro_rules! read {
    ($row:ident.$column:ident) => {
        $crate::table::row::read!($row.$column, $crate::table::column::Field::of_column)
    };
    ($row:ident.$column:ident, $read:expr) => {
        $crate::table::row::read_column($row, &$row.$column, stringify!($column), $read)?
    };
}

pub(crate) use read;

/// Adds the name of the column to an invalid value, without its content.
pub(crate) fn read_column<R: Columns, C, T>(
    _: &R,
    column: &C,
    name: &'static str,
    read: impl FnOnce(&C) -> Option<T>,
) -> Result<T, RowError> {
    read(column).ok_or(RowError { table: R::TABLE.name, column: name })
}

/// A value of a column. The variants are named like the SQL types.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Value {
    BigInt(Option<i64>),
    Bool(Option<bool>),
    Text(Option<String>),
    Binary(Option<Vec<u8>>),
}

macro_rules! into_value {
    ($($type:ty => $variant:ident),+) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant(Some(value))
            }
        })+
    };
}

into_value!(i64 => BigInt, String => Text, Vec<u8> => Binary);

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BigInt(Some(id)) => write!(f, "{}", id.cast_unsigned()),
            Self::Bool(Some(value)) => write!(f, "{value}"),
            Self::Text(Some(text)) => f.write_str(text),
            Self::Binary(Some(bytes)) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Self::BigInt(None) | Self::Bool(None) | Self::Text(None) | Self::Binary(None) => Ok(()),
        }
    }
}

/// Maximum length of a displayed key part, because an invalid key may be long.
const MAX_SHOWN: usize = 100;

/// The primary key of a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowKey(pub(crate) Vec<Value>);

impl RowKey {
    /// Returns the subject of a change to this row. An invalid key may be any row's.
    pub(crate) fn subject(&self, kind: Kind) -> Subject {
        let parts: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        Subject::parse(kind, parts.iter().map(String::as_str)).unwrap_or(Subject::Many(kind))
    }
}

impl fmt::Display for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            let part = part.to_string();
            let characters = part.chars().take(MAX_SHOWN).flat_map(char::escape_debug);
            write!(f, "{}{}", if index > 0 { " " } else { "" }, characters.collect::<String>())?;
        }
        Ok(())
    }
}

/// A table as named in SQL. The columns are those of the row type, the keys first.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) keys: &'static [&'static str],
    pub(crate) columns: &'static [Column],
    /// The staging table of its rows. Empty if no sync carries them.
    pub(crate) staged: &'static str,
    pub(super) statements: LazyLock<Statements>,
}

/// Statements of one row of a table.
#[derive(Debug)]
pub(super) struct Statements {
    pub(super) select: Sql,
    pub(super) insert: Sql,
    /// Inserts a row unless one with its key is stored.
    insert_new: Sql,
    /// Updates a row unless it already has these values. Its parameters are the values, then the key.
    update: Sql,
    delete: Sql,
}

impl Statements {
    fn of(table: &Table) -> Self {
        let (name, is_key) = (table.name, each(table.keys.iter().copied(), "{} = ?", " AND "));
        let (insert, keys) = (table.insert_into(name), table.keys.join(", "));
        let set = each(table.values(), "{} = ?", ", ");
        let differs =
            table.values().zip(1..).map(|(name, value)| format!("{name} IS DISTINCT FROM @{value}"));
        let differs = differs.collect::<Vec<_>>().join(" OR ");
        Self {
            select: Sql::new(&format!("{} WHERE {is_key}", table.select())),
            insert: Sql::new(&insert),
            insert_new: Sql::new(&format!("{insert} ON CONFLICT ({keys}) DO NOTHING")),
            update: Sql::new(&format!("UPDATE {name} SET {set} WHERE {is_key} AND ({differs})")),
            delete: Sql::new(&format!("DELETE FROM {name} WHERE {is_key}")),
        }
    }
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
        self.names().skip(self.keys.len())
    }

    /// Returns the name of the table of staged rows that differ from the stored ones, each with its operation.
    pub(crate) fn differing(&self) -> String {
        format!("{}_differing", self.staged)
    }

    /// Returns the key of a row.
    pub(crate) fn key_of(&self, values: &[Value]) -> RowKey {
        RowKey(values.iter().take(self.keys.len()).cloned().collect())
    }

    /// Returns a query for the columns of all rows.
    pub(crate) fn select(&self) -> String {
        format!("SELECT {} FROM {}", each(self.names(), "{}", ", "), self.name)
    }

    /// Returns a statement that inserts a row into this table or its staging table.
    pub(super) fn insert_into(&self, table: &str) -> String {
        let (columns, marks) = (each(self.names(), "{}", ", "), each(self.names(), "?", ", "));
        format!("INSERT INTO {table} ({columns}) VALUES ({marks})")
    }

    /// Deletes the row with this key, and returns what changed.
    pub(crate) fn delete(&self, db: &mut AnyConnection, RowKey(key): RowKey) -> QueryResult<Tally> {
        let gone = self.statements.delete.execute::<()>(&key, db)?;
        Ok(if gone > 0 { Tally::REMOVED } else { Tally::NOTHING })
    }
}

/// Joins a piece of SQL for each name.
pub(super) fn each<'a>(names: impl Iterator<Item = &'a str>, form: &str, between: &str) -> String {
    names.map(|name| form.replace("{}", name)).collect::<Vec<_>>().join(between)
}

/// The text of a statement for either database, between the question marks that stand for its values.
#[derive(Debug)]
pub(crate) struct Sql {
    sqlite: Box<[String]>,
    postgres: Box<[String]>,
}

impl Sql {
    /// Parses a statement, in which `@1` stands for the first value again.
    pub(crate) fn new(text: &str) -> Self {
        let parts = |again| text.split('?').map(|part| part.replace('@', again)).collect();
        Self { sqlite: parts("?"), postgres: parts("$") }
    }

    /// Executes the statement, and returns how many rows it changed.
    pub(crate) fn execute<I: Identity>(
        &self,
        values: &[Value],
        db: &mut AnyConnection,
    ) -> QueryResult<usize> {
        let statement = Statement::<(), I>::new(self, values);
        match db {
            AnyConnection::Sqlite(db) => statement.execute(db),
            AnyConnection::Postgres(db) => statement.execute(db),
        }
    }
}

/// Identifies a statement, so that Diesel finds the prepared one without putting its text together. Statements of one identity
/// must have the same text on a connection: Diesel would run the first of them for all.
pub(crate) trait Identity: 'static {
    const IS_UNIQUE: bool = true;
}

/// Diesel identifies the statement by its text.
impl Identity for () {
    const IS_UNIQUE: bool = false;
}

/// An operation on the table of a row type.
impl<R: Columns, O: 'static> Identity for (R, O) {}

pub(crate) struct Select;
pub(super) struct Insert;
struct InsertNew;
struct Update;

/// A statement with its values, whose rows have the SQL type `T`. Unlike Diesel's `sql` and `sql_query`, it is prepared
/// once; and unlike a query of [`AnyConnection`], its text is not put together anew for each of Diesel's passes over it.
pub(crate) struct Statement<'a, T, I> {
    sql: &'a Sql,
    values: &'a [Value],
    types: PhantomData<(T, I)>,
}

impl<'a, T, I> Statement<'a, T, I> {
    pub(super) const fn new(sql: &'a Sql, values: &'a [Value]) -> Self {
        Self { sql, values, types: PhantomData }
    }

    /// Returns the rows of the statement.
    pub(super) fn rows<'query, R>(self, db: &mut AnyConnection) -> QueryResult<Vec<R>>
    where
        Self: LoadQuery<'query, SqliteConnection, R> + LoadQuery<'query, PgConnection, R>,
    {
        match db {
            AnyConnection::Sqlite(db) => self.load(db),
            AnyConnection::Postgres(db) => self.load(db),
        }
    }
}

macro_rules! query_fragments {
    ($($backend:ty => $text:ident),+) => {$(
        impl<T, I> QueryFragment<$backend> for Statement<'_, T, I> {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, $backend>) -> QueryResult<()> {
                let mut parts = self.sql.$text.iter();
                if let Some(first) = parts.next() {
                    out.push_sql(first);
                }
                for (value, part) in self.values.iter().zip(parts) {
                    match value {
                        Value::BigInt(value) => out.push_bind_param::<Nullable<BigInt>, _>(value)?,
                        Value::Bool(value) => out.push_bind_param::<Nullable<Bool>, _>(value)?,
                        Value::Text(value) => out.push_bind_param::<Nullable<Text>, _>(value)?,
                        Value::Binary(value) => out.push_bind_param::<Nullable<Binary>, _>(value)?,
                    }
                    out.push_sql(part);
                }
                Ok(())
            }
        }
    )+};
}

query_fragments!(Sqlite => sqlite, Pg => postgres);

impl<T, I: Identity> QueryId for Statement<'_, T, I> {
    type QueryId = I;

    const HAS_STATIC_QUERY_ID: bool = I::IS_UNIQUE;
}

impl<T, I> Query for Statement<'_, T, I> {
    type SqlType = T;
}

impl<T, I, C> RunQueryDsl<C> for Statement<'_, T, I> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_a_key_on_one_line_of_bounded_length() {
        for (key, shown) in [
            (vec![(-1).into()], u64::MAX.to_string()),
            (vec![1.into(), 2.into()], "1 2".to_owned()),
            (vec![7.into(), "a\nb".to_owned().into()], "7 a\\nb".to_owned()),
            (vec![vec![0, 255].into()], "00ff".to_owned()),
            (vec!["a".repeat(5000).into()], "a".repeat(MAX_SHOWN)),
        ] {
            assert_eq!(RowKey(key).to_string(), shown);
        }
    }
}

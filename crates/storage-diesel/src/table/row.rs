//! Rows: plain data, made from the list of tables. What they mean is said in the file of each table.
//!
//! A value has exactly one spelling as a row, so two rows are equal when their values are: that is how a write and a merge
//! tell what has changed.

use super::{
    description::Table,
    row_key::RowKey,
    stored::Stored,
    update::{Bind, Update},
};
use crate::{
    connection::{AnyBackend, AnyConnection},
    failure::RowError,
    schema::{self, columns, tables},
};
use companion_domain::change::Tally;
use diesel::{
    AsChangeset, Insertable, OptionalExtension, QueryResult, Queryable, RunQueryDsl, Selectable,
    query_builder::AstPass, sql_types,
};

pub(crate) trait Row: Sized {
    const TABLE: Table;

    fn key(&self) -> RowKey;

    /// The row that has this key.
    fn stored(db: &mut AnyConnection, key: impl Into<RowKey>) -> QueryResult<Option<Self>>;

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

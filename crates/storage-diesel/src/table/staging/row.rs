//! Staging rows, in the quickest way of each database.

use crate::{
    connection::AnyConnection,
    schema::tables,
    table::row::{
        BlockedRow, FeedbackRow, GrantRow, GuildRow, MemberRow, Row, RowKey, SessionRow, StaffRow,
        SubscriptionGuildRow, SubscriptionRow, TeamRow,
    },
};
#[cfg(feature = "sqlite")]
use diesel::{ExpressionMethods, SqliteConnection};
#[cfg(feature = "postgres")]
use diesel::{
    PgConnection, sql_query,
    sql_types::{Array, BigInt, Binary, Bool, Nullable, Text},
};
use diesel::{QueryResult, RunQueryDsl};
use std::collections::BTreeMap;

/// A row that a sync brings.
pub(super) trait StagedRow: Row {
    /// Stages a row with a statement that is prepared once: this database is asked without a detour.
    #[cfg(feature = "sqlite")]
    fn stage_one(self, db: &mut SqliteConnection) -> QueryResult<usize>;

    /// Stages rows of distinct keys with one statement: each column is sent as one array.
    #[cfg(feature = "postgres")]
    fn stage_all(rows: &[Self], db: &mut PgConnection) -> QueryResult<usize>;
}

macro_rules! staged_rows {
    ($($table:ident $keys:tt $rows:tt $columns:tt $(+ $beside:tt)?)+) => {
        $(staged_rows! { @table $keys $rows $columns })+
    };
    (
        @table $keys:tt [$row:ident, $staged:ident]
        { $($column:ident -> $sql:ident $(<$inner:ident>)?,)+ }
    ) => {
        #[cfg(feature = "sqlite")]
        diesel::table! { $staged $keys { $($column -> $sql $(<$inner>)?,)+ } }

        impl StagedRow for $row {
            #[cfg(feature = "sqlite")]
            fn stage_one(self, db: &mut SqliteConnection) -> QueryResult<usize> {
                let values = ($($staged::$column.eq(self.$column),)+);
                diesel::insert_into($staged::table).values(values).execute(db)
            }

            #[cfg(feature = "postgres")]
            fn stage_all(rows: &[Self], db: &mut PgConnection) -> QueryResult<usize> {
                sql_query(insert_arrays::<Self>())
                    $(.bind::<Array<$sql $(<$inner>)?>, _>(
                        rows.iter().map(|row| &row.$column).collect::<Vec<_>>(),
                    ))+
                    .execute(db)
            }
        }
    };
    (@table $keys:tt $rows:tt $columns:tt) => {};
}

tables!(staged_rows);

#[cfg(feature = "postgres")]
fn insert_arrays<R: Row>() -> String {
    let columns: Vec<_> = R::TABLE.names().collect();
    let arrays: Vec<_> = (1..=columns.len()).map(|index| format!("${index}")).collect();
    let replaced: Vec<_> = R::TABLE.values().map(|column| format!("{column} = excluded.{column}")).collect();
    let replace = if replaced.is_empty() {
        "NOTHING".to_owned()
    } else {
        format!("UPDATE SET {}", replaced.join(", "))
    };
    format!(
        "INSERT INTO {} ({}) SELECT * FROM unnest({}) ON CONFLICT ({}) DO {replace}",
        R::TABLE.staged,
        columns.join(", "),
        arrays.join(", "),
        R::TABLE.keys.join(", "),
    )
}

/// Stages rows. One takes the place of an earlier one with the same key.
pub(super) fn stage<R: StagedRow>(rows: BTreeMap<RowKey, R>, db: &mut AnyConnection) -> QueryResult<()> {
    match db {
        #[cfg(feature = "sqlite")]
        AnyConnection::Sqlite(db) => rows.into_values().try_for_each(|row| row.stage_one(db).map(drop)),
        #[cfg(feature = "postgres")]
        AnyConnection::Postgres(db) => {
            let rows: Vec<_> = rows.into_values().collect();
            if rows.is_empty() { Ok(()) } else { R::stage_all(&rows, db).map(drop) }
        }
    }
}

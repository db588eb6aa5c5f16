//! Temporary tables, as each database makes them.

use super::{guilds::create_member_guilds, kinds::table_of, slots::create_holes};
use crate::{
    connection::AnyConnection,
    schema::{Column, ColumnType},
    table::{
        row::Table,
        row::{Row, SubscriptionGuildRow},
    },
};
use companion_domain::change::Kind;
use diesel::{QueryResult, connection::SimpleConnection};

/// The tables that records of a kind are staged in.
pub(crate) fn staged_tables(kind: Kind) -> impl Iterator<Item = &'static str> {
    let more = match kind {
        Kind::Member => Some("staged_member_guilds"),
        Kind::Subscription => Some(SubscriptionGuildRow::TABLE.staged),
        Kind::Feedback => Some("staged_holes"),
        _ => None,
    };
    table_of(kind).map(|table| table.staged).into_iter().chain(more)
}

/// Makes the tables that records of a kind are staged in.
pub(crate) fn create(kind: Kind, db: &mut AnyConnection) -> QueryResult<()> {
    if let Some(table) = table_of(kind) {
        create_for(table, db)?;
    }
    match kind {
        Kind::Member => create_member_guilds(db),
        Kind::Subscription => create_for(&SubscriptionGuildRow::TABLE, db),
        Kind::Feedback => create_holes(db),
        _ => Ok(()),
    }
}

/// Makes the table that rows are staged in, and that of the rows that differ from what is stored.
fn create_for(table: &Table, db: &mut AnyConnection) -> QueryResult<()> {
    let statements = match db {
        #[cfg(feature = "sqlite")]
        AnyConnection::Sqlite(_) => for_sqlite(table),
        #[cfg(feature = "postgres")]
        AnyConnection::Postgres(_) => for_postgres(table),
    };
    db.batch_execute(&statements)
}

#[cfg(feature = "sqlite")]
fn for_sqlite(table: &Table) -> String {
    let columns = definitions(table, |holds| match holds {
        ColumnType::Integer | ColumnType::Boolean => "INTEGER",
        ColumnType::Text => "TEXT",
        ColumnType::Bytes => "BLOB",
    });
    // A lone number is what such a table is sorted by anyway, and the quickest way to find a row.
    let number = |key| {
        let mut columns = table.columns.iter();
        columns.any(|column| column.name == key && column.holds == ColumnType::Integer)
    };
    let sorted = if matches!(table.keys, [key] if number(*key)) { "" } else { "WITHOUT ROWID" };
    let (staged, differing, keys) = (table.staged, table.differing(), table.keys.join(", "));
    format!(
        "CREATE TEMPORARY TABLE {staged} ({columns}, PRIMARY KEY ({keys}) ON CONFLICT REPLACE) {sorted};
         CREATE TEMPORARY TABLE {differing} (op INTEGER, {columns}, PRIMARY KEY ({keys})) {sorted}"
    )
}

#[cfg(feature = "postgres")]
fn for_postgres(table: &Table) -> String {
    let columns = definitions(table, |holds| match holds {
        ColumnType::Integer => "BIGINT",
        ColumnType::Boolean => "BOOLEAN",
        ColumnType::Text => "TEXT COLLATE \"C\"",
        ColumnType::Bytes => "BYTEA",
    });
    let (staged, differing, keys) = (table.staged, table.differing(), table.keys.join(", "));
    format!(
        "CREATE TEMPORARY TABLE {staged} ({columns}, PRIMARY KEY ({keys}));
         CREATE TEMPORARY TABLE {differing} (op BIGINT, {columns}, PRIMARY KEY ({keys}))"
    )
}

fn definitions(table: &Table, named: impl Fn(ColumnType) -> &'static str) -> String {
    let column = |column: &Column| format!("{} {}", column.name, named(column.holds));
    table.columns.iter().map(column).collect::<Vec<_>>().join(", ")
}

/// Lets a server know how much is in these tables, so that it joins them in the right way. Nobody else does it for
/// temporary ones.
pub(crate) fn analyse(db: &mut AnyConnection, tables: &[String]) -> QueryResult<()> {
    match db {
        #[cfg(feature = "sqlite")]
        AnyConnection::Sqlite(_) => {
            let _ = tables;
            Ok(())
        }
        #[cfg(feature = "postgres")]
        AnyConnection::Postgres(db) if !tables.is_empty() => {
            db.batch_execute(&format!("ANALYZE {}", tables.join(", ")))
        }
        #[cfg(feature = "postgres")]
        AnyConnection::Postgres(_) => Ok(()),
    }
}

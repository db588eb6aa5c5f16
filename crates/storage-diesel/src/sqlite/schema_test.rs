//! Migrations make exactly the tables that Diesel is told of, and can be taken back.

use super::migration::STEPS;
use crate::schema::{ColumnType, TABLES};
use diesel::{
    Connection, QueryableByName, RunQueryDsl, SqliteConnection, sql_query,
    sql_types::{Bool, Text},
};
use diesel_migrations::MigrationHarness;
use std::collections::BTreeSet;

#[derive(QueryableByName, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    #[diesel(sql_type = Text)]
    table_name: String,
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    kind: String,
    #[diesel(sql_type = Bool)]
    nullable: bool,
}

fn columns(connection: &mut SqliteConnection) -> BTreeSet<Found> {
    let rows: Vec<Found> = sql_query(
        "SELECT t.name AS table_name, c.name, c.type AS kind, c.\"notnull\" = 0 AS nullable
         FROM pragma_table_list AS t JOIN pragma_table_info(t.name) AS c
         WHERE t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND t.name <> '__diesel_schema_migrations'",
    )
    .load(connection)
    .unwrap();
    rows.into_iter().collect()
}

fn expected() -> BTreeSet<Found> {
    let columns =
        TABLES.iter().flat_map(|(table, columns)| columns.iter().map(move |column| (table, column)));
    let found = columns.map(|(table, column)| {
        let kind = match column.holds {
            ColumnType::Integer | ColumnType::Boolean => "INTEGER",
            ColumnType::Text => "TEXT",
            ColumnType::Bytes => "BLOB",
        };
        Found {
            table_name: (*table).to_owned(),
            name: column.name.to_owned(),
            kind: kind.to_owned(),
            nullable: column.nullable,
        }
    });
    found.collect()
}

#[test]
fn migrations_up_down_and_up_again_give_the_schema_that_diesel_is_told_of() {
    let mut connection = SqliteConnection::establish(":memory:").unwrap();
    connection.run_pending_migrations(STEPS).unwrap();
    assert_eq!(columns(&mut connection), expected());
    connection.revert_all_migrations(STEPS).unwrap();
    assert_eq!(columns(&mut connection), BTreeSet::new());
    connection.run_pending_migrations(STEPS).unwrap();
    assert_eq!(columns(&mut connection), expected());
}

#[test]
fn every_step_can_be_taken_back_and_made_again_by_itself() {
    let mut connection = SqliteConnection::establish(":memory:").unwrap();
    loop {
        let before = columns(&mut connection);
        if connection.run_next_migration(STEPS).is_err() {
            break;
        }
        let after = columns(&mut connection);
        assert_ne!(before, after);
        connection.revert_last_migration(STEPS).unwrap();
        assert_eq!(columns(&mut connection), before);
        connection.run_next_migration(STEPS).unwrap();
        assert_eq!(columns(&mut connection), after);
    }
    assert_eq!(columns(&mut connection), expected());
}

//! Creating, upgrading and rejecting schemas.

use crate::{postgres::schema::Schema, sample::user, shared::Place};
use companion_domain::port::{Health, Mutation, Record, Records};
use companion_storage_diesel::{DieselStorage, OpenError, SqliteOptions};
use companion_testkit::world::{a_heartbeat, at};
use diesel::{
    QueryableByName, RunQueryDsl, sql_query,
    sql_types::{BigInt, Text},
};
use std::thread;

#[test]
fn lists_pending_migrations_without_creating_anything() {
    let schema = Schema::new();
    let options = schema.options();
    let steps = options.pending().unwrap();
    assert!(steps.iter().any(|step| step == "0001_history"), "{steps:?}");
    assert_eq!(tables(&schema), 0);
    assert_eq!(options.migrate().unwrap(), steps);
    assert_eq!(options.pending().unwrap(), Vec::<String>::new());
    assert_eq!(options.migrate().unwrap(), Vec::<String>::new());
}

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    count: i64,
}

fn tables(schema: &Schema) -> i64 {
    sql_query("SELECT count(*) AS count FROM pg_tables WHERE schemaname = current_schema()")
        .get_result::<Count>(&mut schema.connection())
        .unwrap()
        .count
}

#[test]
fn one_of_eight_concurrent_migrations_applies() {
    let schema = Schema::new();
    let options = schema.options();
    let steps = options.pending().unwrap().len();
    let applied: Vec<_> = thread::scope(|scope| {
        let starting: Vec<_> = (0..8).map(|_| scope.spawn(|| options.migrate().unwrap().len())).collect();
        starting.into_iter().map(|start| start.join().unwrap()).collect()
    });
    assert!(steps > 0);
    assert_eq!(applied.iter().filter(|applied| **applied == steps).count(), 1, "{applied:?}");
    assert_eq!(applied.iter().sum::<usize>(), steps, "{applied:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_nodes_start_at_once_on_an_empty_database() {
    let schema = Schema::new();
    let starting: Vec<_> = (1..=8)
        .map(|number| {
            let options = schema.options();
            tokio::spawn(async move {
                let storage = DieselStorage::open_postgres(options).await.unwrap();
                storage.put(Record::Blocked(user(number))).await.unwrap();
                storage
            })
        })
        .collect();
    for start in starting {
        let storage = start.await.unwrap();
        storage.check().await.unwrap();
    }
}

/// Returns the tables of the schema with storage parameters, and those parameters.
fn storage_parameters(schema: &Schema) -> Vec<(String, String)> {
    #[derive(QueryableByName)]
    struct Parameters {
        #[diesel(sql_type = Text)]
        name: String,
        #[diesel(sql_type = Text)]
        parameters: String,
    }
    let found: Vec<Parameters> = sql_query(
        "SELECT relname::text AS name, array_to_string(reloptions, ', ') AS parameters FROM pg_class
         WHERE relnamespace = current_schema()::regnamespace AND reloptions IS NOT NULL ORDER BY 1",
    )
    .load(&mut schema.connection())
    .unwrap();
    found.into_iter().map(|Parameters { name, parameters }| (name, parameters)).collect()
}

#[test]
fn sets_the_fill_factor_unless_the_operator_has() {
    let schema = Schema::new();
    schema.options().migrate().unwrap();
    let room = |table: &str, parameters: &str| (table.to_owned(), parameters.to_owned());
    let expected = ["feedback", "guilds", "members"].map(|table| room(table, "fillfactor=90"));
    assert_eq!(storage_parameters(&schema), expected);
    schema.run("ALTER TABLE guilds SET (fillfactor = 70); ALTER TABLE members RESET (fillfactor)");
    schema.options().migrate().unwrap();
    let [feedback, _, members] = expected;
    assert_eq!(storage_parameters(&schema), [feedback, room("guilds", "fillfactor=70"), members]);
}

#[tokio::test]
async fn rejects_a_database_of_a_newer_version() {
    let schema = Schema::new();
    schema.open().await.close().await;
    schema.run("INSERT INTO __diesel_schema_migrations (version) VALUES ('9999')");
    for refused in [
        schema.options().pending().unwrap_err(),
        DieselStorage::open_postgres(schema.options()).await.unwrap_err(),
    ] {
        assert!(matches!(&refused, OpenError::Newer { step, .. } if step == "9999"));
        let sentence = refused.to_string();
        assert!(sentence.contains("newer version") && sentence.contains("upgrade"), "{sentence}");
    }
}

#[tokio::test]
async fn rejects_an_altered_schema_with_the_first_difference() {
    for (alteration, expected) in [
        ("DROP TABLE spent_codes", "table spent_codes is missing"),
        ("DROP INDEX feedback_by_slot", "index feedback_by_slot is missing"),
        ("ALTER TABLE staff ADD COLUMN extra TEXT", "table staff differs from the migrations"),
        ("ALTER TABLE staff ALTER COLUMN grants DROP NOT NULL", "table staff differs from the migrations"),
        (
            "ALTER TABLE subscription_guilds DROP CONSTRAINT subscription_guilds_user_id_fkey",
            "table subscription_guilds differs from the migrations",
        ),
        ("CREATE INDEX more ON staff (grants)", "index more is unexpected"),
        ("DELETE FROM __diesel_schema_migrations WHERE version = '0006'", "already exists"),
    ] {
        let schema = Schema::new();
        schema.options().migrate().unwrap();
        schema.run(alteration);
        let refused = DieselStorage::open_postgres(schema.options()).await.unwrap_err();
        let sentence = refused.to_string();
        assert!(matches!(refused, OpenError::Altered { .. }), "{alteration}: {sentence}");
        assert!(sentence.contains(expected), "{alteration}: {sentence}");
        assert!(sentence.contains("restore a backup"), "{sentence}");
    }
}

#[tokio::test]
async fn tolerates_foreign_tables_in_the_schema() {
    let schema = Schema::new();
    schema.run("CREATE TABLE other (id BIGINT PRIMARY KEY)");
    schema.open().await.check().await.unwrap();
    schema.open().await.check().await.unwrap();
}

#[tokio::test]
async fn a_schema_change_fails_the_health_check() {
    let schema = Schema::new();
    let storage = schema.open().await;
    storage.check().await.unwrap();
    schema.run("INSERT INTO __diesel_schema_migrations (version) VALUES ('9999')");
    storage.check().await.unwrap_err();
}

#[derive(QueryableByName, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Column {
    #[diesel(sql_type = Text)]
    place: String,
    #[diesel(sql_type = Text)]
    holds: String,
}

/// Extends the comparison of Diesel's schema with SQLite, in `sqlite/migration.rs`, to PostgreSQL.
#[test]
fn both_databases_have_the_same_columns() {
    let schema = Schema::new();
    schema.options().migrate().unwrap();
    let mut server: Vec<Column> = sql_query(
        "SELECT table_name || '.' || column_name AS place,
             CASE data_type WHEN 'bigint' THEN 'INTEGER' WHEN 'boolean' THEN 'INTEGER' WHEN 'text' THEN 'TEXT'
                 WHEN 'bytea' THEN 'BLOB' ELSE data_type END
             || CASE is_nullable WHEN 'NO' THEN ' NOT NULL' ELSE '' END AS holds
         FROM information_schema.columns
         WHERE table_schema = current_schema() AND table_name <> '__diesel_schema_migrations'",
    )
    .load(&mut schema.connection())
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("companion.db");
    SqliteOptions::new(&file).migrate().unwrap();
    let mut connection: diesel::SqliteConnection =
        diesel::Connection::establish(file.to_str().unwrap()).unwrap();
    let mut embedded: Vec<Column> = sql_query(
        "SELECT t.name || '.' || c.name AS place, c.type || iif(c.\"notnull\", ' NOT NULL', '') AS holds
         FROM pragma_table_list AS t JOIN pragma_table_info(t.name) AS c
         WHERE t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND t.name <> '__diesel_schema_migrations'",
    )
    .load(&mut connection)
    .unwrap();
    server.sort();
    embedded.sort();
    assert!(!server.is_empty());
    assert_eq!(server, embedded);
}

#[tokio::test]
async fn refuses_to_back_up_a_server() {
    let schema = Schema::new();
    let folder = tempfile::tempdir().unwrap();
    let refused = schema.open().await.backup(folder.path().join("copy")).await.unwrap_err().to_string();
    assert!(refused.contains("pg_dump") && refused.contains("companion export"), "{refused}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn inspection_leaves_no_trace() {
    let schema = Schema::new();
    let options = schema.options();
    let empty = options.inspect().unwrap();
    assert_eq!((empty.applied, empty.pending.len()), (0, options.pending().unwrap().len()));
    assert_eq!(tables(&schema), 0);
    let storage = DieselStorage::open_postgres(options.clone()).await.unwrap();
    storage.write(Mutation::Report(a_heartbeat("one", at(7)))).await.unwrap();
    let before = tables(&schema);
    let found = tokio::task::spawn_blocking(move || options.inspect().unwrap()).await.unwrap();
    assert_eq!((found.pending, found.last_report), (vec![], Some(at(7))));
    assert!(found.write.is_some());
    assert_eq!(tables(&schema), before);
    storage.close().await;
}

//! The schema on a server.

use crate::{
    postgres::schema::Schema,
    shared::{Place, ages::steps},
};
use companion_domain::port::{Health, Mutation, Records};
use companion_storage_diesel::DieselStorage;
use companion_testkit::world::{a_heartbeat, at};
use diesel::{RunQueryDsl, dsl::sql, sql_types::Text};

/// Returns the tables of the schema with storage parameters, and those parameters.
fn storage_parameters(schema: &Schema) -> Vec<(String, String)> {
    sql::<(Text, Text)>(
        "SELECT relname::text, array_to_string(reloptions, ', ') FROM pg_class
         WHERE relnamespace = current_schema()::regnamespace AND reloptions IS NOT NULL ORDER BY 1",
    )
    .load(&mut schema.connection())
    .unwrap()
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
async fn tolerates_foreign_tables_in_the_schema() {
    let schema = Schema::new();
    schema.run("CREATE TABLE other (id BIGINT PRIMARY KEY)");
    schema.open().await.check().await.unwrap();
    schema.open().await.check().await.unwrap();
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
    assert_eq!((empty.applied, empty.pending), (0, steps::<Schema>()));
    assert_eq!(schema.tables(), 0);
    let storage = DieselStorage::open_postgres(options.clone()).await.unwrap();
    storage.write(Mutation::Report(a_heartbeat("one", at(7)))).await.unwrap();
    let before = schema.tables();
    let found = tokio::task::spawn_blocking(move || options.inspect().unwrap()).await.unwrap();
    assert_eq!((found.pending, found.last_report), (vec![], Some(at(7))));
    assert!(found.write.is_some());
    assert_eq!(schema.tables(), before);
    storage.close().await;
}

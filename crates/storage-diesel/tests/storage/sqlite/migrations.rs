//! Creating, upgrading and rejecting schemas.

use crate::{sample::user, shared::Place, sqlite::folder::Folder};
use companion_domain::port::{BlockList, Health, Record, Records};
use companion_storage_diesel::{DieselStorage, OpenError, SqliteOptions};
use std::fs;

#[test]
fn lists_pending_migrations_without_creating_anything() {
    let folder = Folder::new();
    let options = folder.options();
    let steps = options.pending().unwrap();
    assert!(steps.iter().any(|step| step == "0001_history"), "{steps:?}");
    assert!(!folder.file().exists());
    assert_eq!(options.migrate().unwrap(), steps);
    assert_eq!(options.pending().unwrap(), Vec::<String>::new());
    assert_eq!(options.migrate().unwrap(), Vec::<String>::new());
}

#[test]
fn reports_a_missing_database_that_must_not_be_created() {
    let folder = Folder::new();
    let options = SqliteOptions { create: false, ..folder.options() };
    let refused = options.migrate().unwrap_err();
    assert!(matches!(&refused, OpenError::Missing { .. }), "{refused:?}");
    assert_eq!(refused.to_string(), format!("there is no database at {}", folder.file().display()));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    folder.options().migrate().unwrap();
    assert_eq!(options.migrate().unwrap(), Vec::<String>::new());
}

#[test]
fn one_of_several_concurrent_starts_migrates() {
    // Several rounds, so that two threads enable the log at the same moment.
    for _ in 0..5 {
        let folder = Folder::new();
        let applied: Vec<_> = std::thread::scope(|scope| {
            let starting: Vec<_> =
                (0..8).map(|_| scope.spawn(|| folder.options().migrate().unwrap().len())).collect();
            starting.into_iter().map(|start| start.join().unwrap()).collect()
        });
        assert_eq!(applied.iter().filter(|steps| **steps > 0).count(), 1, "{applied:?}");
    }
}

#[tokio::test]
async fn rejects_a_database_of_a_newer_version() {
    let folder = Folder::new();
    folder.open().await.close().await;
    folder.run("INSERT INTO __diesel_schema_migrations (version) VALUES ('9999')");
    for refused in
        [folder.options().pending().unwrap_err(), DieselStorage::open(folder.options()).await.unwrap_err()]
    {
        assert!(matches!(&refused, OpenError::Newer { step, .. } if step == "9999"));
        let sentence = refused.to_string();
        assert!(sentence.contains("newer version") && sentence.contains("upgrade"), "{sentence}");
    }
}

#[tokio::test]
async fn rejects_a_database_of_another_program_unchanged() {
    let others =
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT); INSERT INTO notes VALUES (1, 'milk');";
    let with_diesel = "CREATE TABLE __diesel_schema_migrations (version TEXT PRIMARY KEY);
        INSERT INTO __diesel_schema_migrations VALUES ('20240131120000'); CREATE TABLE posts (id INTEGER);";
    let with_log = format!("PRAGMA journal_mode = WAL; {others}");
    for statements in [others, with_diesel, with_log.as_str()] {
        let folder = Folder::new();
        fs::write(folder.file(), "").unwrap();
        folder.run(statements);
        let before = fs::read(folder.file()).unwrap();
        for refused in [
            DieselStorage::open(folder.options()).await.unwrap_err(),
            folder.options().pending().unwrap_err(),
            folder.options().inspect().unwrap_err(),
        ] {
            assert!(matches!(refused, OpenError::Foreign { .. }), "{statements}: {refused:?}");
        }
        assert_eq!(fs::read(folder.file()).unwrap(), before, "{statements}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{statements}");
    }
}

#[tokio::test]
async fn migrates_an_empty_database() {
    let folder = Folder::new();
    fs::write(folder.file(), "").unwrap();
    folder.run("CREATE TABLE notes (id INTEGER); DROP TABLE notes");
    folder.open().await.put(Record::Blocked(user(1))).await.unwrap();
}

#[tokio::test]
async fn rejects_an_altered_schema_with_the_first_difference() {
    for (alteration, expected) in [
        ("DROP TABLE spent_codes", "table spent_codes is missing"),
        ("DROP INDEX feedback_by_slot", "index feedback_by_slot is missing"),
        ("ALTER TABLE staff ADD COLUMN extra TEXT", "table staff differs from the migrations"),
        ("CREATE TABLE other (id INTEGER)", "table other is unexpected"),
        ("DELETE FROM __diesel_schema_migrations WHERE version = '0006'", "already exists"),
    ] {
        let folder = Folder::new();
        folder.open().await.close().await;
        folder.run(alteration);
        let refused = DieselStorage::open(folder.options()).await.unwrap_err();
        let sentence = refused.to_string();
        assert!(matches!(refused, OpenError::Altered { .. }), "{alteration}: {sentence}");
        assert!(sentence.contains(expected), "{alteration}: {sentence}");
        assert!(sentence.contains("restore a backup"), "{sentence}");
    }
}

#[tokio::test]
async fn a_schema_change_fails_the_health_check() {
    let folder = Folder::new();
    let storage = folder.open().await;
    storage.check().await.unwrap();
    folder.run("INSERT INTO __diesel_schema_migrations (version) VALUES ('9999')");
    storage.check().await.unwrap_err();
}

#[tokio::test]
async fn acknowledged_writes_survive_reopening() {
    let folder = Folder::new();
    let storage = folder.open().await;
    storage.put(Record::Blocked(user(1))).await.unwrap();
    storage.close().await;
    drop(storage);
    // A closed database needs no log.
    assert!(!fs::exists(folder.path().join("companion.db-wal")).unwrap());
    assert!(folder.open().await.is_blocked(user(1)).await.unwrap());
}

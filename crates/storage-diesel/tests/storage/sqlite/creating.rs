//! Creating a file, and rejecting those of other programs.

use crate::{sample::user, shared::Place, sqlite::folder::Folder};
use companion_domain::port::{BlockList, Record, Records};
use companion_storage_diesel::{DieselStorage, OpenError, SqliteOptions};
use std::fs;

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

//! Inspecting a database without changing it.

use crate::{sample::user, shared::Place, sqlite::folder::Folder};
use companion_domain::port::{Mutation, Record, Records};
use companion_storage_diesel::OpenError;
use companion_testkit::world::{a_heartbeat, at};
use std::{collections::BTreeMap, fs, path::Path};

/// Returns the content of every file of the folder.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

fn names(folder: &Path) -> Vec<String> {
    content(folder).into_keys().collect()
}

#[test]
fn inspects_a_closed_database_without_creating_a_log() {
    let folder = Folder::new();
    folder.options().migrate().unwrap();
    folder.run("INSERT INTO clusters (id, report, received_at) VALUES ('one', '{}', 7000000)");
    assert_eq!(names(folder.path()), ["companion.db"], "the last connection removes the log");
    let before = content(folder.path());
    let found = folder.options().inspect().unwrap();
    assert_eq!((found.pending, found.last_report, found.write), (vec![], Some(at(7)), None));
    assert!(found.applied > 0);
    assert_eq!(content(folder.path()), before);
}

#[tokio::test]
async fn inspects_the_log_of_an_open_database_without_changing_it() {
    let folder = Folder::new();
    let storage = folder.open().await;
    storage.write(Mutation::Report(a_heartbeat("one", at(8)))).await.unwrap();
    let before = content(folder.path());
    assert_eq!(names(folder.path()), ["companion.db", "companion.db-shm", "companion.db-wal"]);
    assert_eq!(folder.options().inspect().unwrap().last_report, Some(at(8)));
    let after = content(folder.path());
    for name in ["companion.db", "companion.db-wal"] {
        assert_eq!(before[name], after[name], "{name}");
    }
    assert_eq!(names(folder.path()).len(), 3);
    // The process that has it open is not disturbed.
    assert_eq!(storage.put(Record::Blocked(user(1))).await.unwrap().added, 1);
}

#[tokio::test]
async fn inspects_the_log_of_a_killed_process_without_changing_it() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let storage = folder.open().await;
    storage.write(Mutation::Report(a_heartbeat("one", at(9)))).await.unwrap();
    for (name, bytes) in content(folder.path()) {
        fs::write(copy.path().join(name), bytes).unwrap();
    }
    let before = content(copy.path());
    assert_eq!(copy.options().inspect().unwrap().last_report, Some(at(9)));
    assert_eq!(content(copy.path()), before);
}

#[test]
fn inspection_reports_the_errors_of_opening() {
    let folder = Folder::new();
    assert!(matches!(folder.options().inspect(), Err(OpenError::Missing { .. })));
    folder.apply_next_steps([String::new()]);
    let young = folder.options().inspect().unwrap();
    assert_eq!((young.applied, young.last_report), (1, None));
    assert!(!young.pending.is_empty());
    folder.options().migrate().unwrap();
    folder.run("CREATE TABLE foreign_one (id INTEGER)");
    assert!(matches!(folder.options().inspect(), Err(OpenError::Altered { .. })));
    folder.run("INSERT INTO __diesel_schema_migrations (version) VALUES ('9999')");
    assert!(matches!(folder.options().inspect(), Err(OpenError::Newer { .. })));
    fs::write(folder.file(), "this is a shopping list, not a database, and long enough to be looked at")
        .unwrap();
    assert!(matches!(folder.options().inspect(), Err(OpenError::Damaged { .. })));
}

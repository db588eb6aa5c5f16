//! Copies of a database that is in use.

use crate::{
    sample::{Collected, guild, session, sign_in},
    shared::Place,
    sqlite::folder::Folder,
};
use companion_domain::{
    change::Key,
    port::{Record, Records, SessionStore},
};
use companion_storage_diesel::{BackupError, DieselStorage, OpenError, SqliteOptions};
use diesel::{Connection, RunQueryDsl, SqliteConnection, dsl::sql, sql_types::BigInt};
use std::{fs, path::Path, sync::Arc};

#[tokio::test]
async fn rejects_a_backup_beside_the_log_of_another_database() {
    let (before, folder) = (Folder::new(), Folder::new());
    let storage = before.open().await;
    storage.backup(&folder.file()).await.unwrap();
    storage.put(Record::Guild(guild(1))).await.unwrap();
    let left_over = fs::read(before.path().join("companion.db-wal")).unwrap();
    let (backup, log) = (fs::read(folder.file()).unwrap(), folder.path().join("companion.db-wal"));
    fs::write(&log, &left_over).unwrap();
    let refused = DieselStorage::open(folder.options()).await.unwrap_err();
    assert!(matches!(refused, OpenError::ForeignLog { .. }), "{refused:?}");
    assert!(refused.to_string().contains("companion.db-wal"), "{refused}");
    assert!(matches!(folder.options().inspect(), Err(OpenError::ForeignLog { .. })));
    assert!(fs::read(folder.file()).unwrap() == backup && fs::read(&log).unwrap() == left_over);
    fs::remove_file(&log).unwrap();
    let restored = folder.open().await;
    assert_eq!(Records::find(&restored, &Key::Guild(guild(1).id)).await.unwrap(), None);
}

fn size_of_pages(file: &Path) -> i64 {
    let mut connection = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    sql::<BigInt>("PRAGMA page_size").get_result(&mut connection).unwrap()
}

#[tokio::test]
async fn a_backup_gets_the_default_page_size() {
    let (old, new) = (Folder::new(), Folder::new());
    old.run("PRAGMA page_size = 8192; VACUUM");
    let storage = old.open().await;
    sign_in(&storage, 1).await.unwrap();
    assert_eq!(size_of_pages(&old.file()), 8192);
    let copy = old.path().join("copy.db");
    storage.backup(&copy).await.unwrap();
    drop(new.open().await);
    assert_eq!(size_of_pages(&copy), size_of_pages(&new.file()));
    let copy = DieselStorage::open(SqliteOptions::new(&copy)).await.unwrap();
    assert!(SessionStore::find(&copy, &session(1).id).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_during_writes_holds_a_snapshot() {
    let folder = Folder::new();
    let storage = Arc::new(folder.open().await);
    let writing = tokio::spawn({
        let storage = Arc::clone(&storage);
        async move {
            for number in 0..100 {
                sign_in(&storage, number).await.unwrap();
            }
        }
    });
    let mut counts = Vec::new();
    for copy in 0..3 {
        let target = folder.path().join(format!("copy{copy}.db"));
        storage.backup(&target).await.unwrap();
        let copy = DieselStorage::open(SqliteOptions::new(&target)).await.unwrap();
        let mut kept = Collected::default();
        copy.export(&mut kept).await.unwrap();
        // Users sign in one after the other, so every snapshot holds the first sessions, each with its grant.
        for number in 0..kept.0.len() as u64 / 2 {
            assert!(SessionStore::find(&copy, &session(number).id).await.unwrap().is_some());
        }
        counts.push(kept.0.len());
    }
    writing.await.unwrap();
    assert!(counts.is_sorted(), "{counts:?}");
}

#[tokio::test]
async fn a_failed_backup_overwrites_nothing_and_leaves_no_file() {
    let folder = Folder::new();
    let storage = folder.open().await;
    let target = folder.path().join("precious");
    fs::write(&target, "mine").unwrap();
    assert!(matches!(storage.backup(&target).await, Err(BackupError::Exists(_))));
    assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
    assert!(matches!(
        storage.backup(folder.path().join("no/such/folder")).await,
        Err(BackupError::Unwritable { .. })
    ));
    let partial = |entry: fs::DirEntry| entry.file_name().to_string_lossy().contains("partial");
    assert!(!fs::read_dir(folder.path()).unwrap().any(|entry| partial(entry.unwrap())));
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_database_and_its_copies() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let storage = folder.open().await;
    let target = folder.path().join("copy.db");
    storage.backup(&target).await.unwrap();
    for file in [folder.file(), target] {
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", file.display());
    }
}

//! Files that are deleted or replaced under the storage, and operations that must not be mistaken for that.

use crate::{
    sample::{Collected, failure, session, sign_in, user},
    shared::Place,
    sqlite::folder::Folder,
};
use companion_domain::port::{ApplyError, BlockList, Health, Record, Records, SessionStore, StoreErrorKind};
use companion_storage_diesel::{DieselStorage, SqliteOptions};
use diesel::connection::{
    Instrumentation, InstrumentationEvent, SimpleConnection, set_default_instrumentation,
};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
};

/// Returns the cause of a rejected operation.
#[track_caller]
fn refusal<T: std::fmt::Debug>(result: Result<T, impl Into<ApplyError>>) -> String {
    let error = failure(result);
    assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error:?}");
    error.cause.to_string()
}

/// Replaces a file with a copy of itself.
fn replace(path: &Path) {
    let copy = path.with_extension("copy");
    fs::copy(path, &copy).unwrap();
    fs::rename(copy, path).unwrap();
}

#[tokio::test]
async fn rejects_writes_once_a_file_was_deleted_or_replaced() {
    for (name, replaced) in [
        ("companion.db", false),
        ("companion.db", true),
        ("companion.db-wal", false),
        ("companion.db-wal", true),
    ] {
        let case = format!("{name}, replaced: {replaced}");
        let folder = Folder::new();
        let storage = folder.open().await;
        sign_in(&storage, 1).await.unwrap();
        storage.check().await.unwrap();
        let file = folder.path().join(name);
        let aside = folder.path().join("aside");
        fs::hard_link(&file, &aside).unwrap();
        if replaced {
            replace(&file);
        } else {
            fs::remove_file(&file).unwrap();
        }
        let told = refusal(sign_in(&storage, 2).await);
        assert!(told.starts_with("nothing was written: "), "{case}: {told}");
        assert!(told.contains(file.to_str().unwrap()) && told.contains("restart"), "{case}: {told}");
        assert!(storage.statistics().has_given_up, "{case}");
        let unfit = refusal(storage.check().await);
        assert!(unfit.contains(file.to_str().unwrap()), "{case}: {unfit}");
        // Reads continue.
        assert!(SessionStore::find(&storage, &session(1).id).await.unwrap().is_some(), "{case}");
        assert!(SessionStore::find(&storage, &session(2).id).await.unwrap().is_none(), "{case}");
        // Writes may have been lost meanwhile, so a file that comes back is not accepted.
        fs::rename(&aside, &file).unwrap();
        refusal(storage.put(Record::Blocked(user(1))).await);
        refusal(storage.check().await);
    }
}

#[tokio::test]
async fn the_health_check_notices_a_deleted_file() {
    let folder = Folder::new();
    let storage = folder.open().await;
    fs::remove_file(folder.file()).unwrap();
    refusal(storage.check().await);
    assert!(storage.statistics().has_given_up);
}

/// The file to remove when a connection to it is about to commit.
static VANISHING: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Removes the file of a connection between the check before a commit and the commit.
#[derive(Default)]
struct Vanish(String);

impl Instrumentation for Vanish {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        match event {
            InstrumentationEvent::StartEstablishConnection { url, .. } => url.clone_into(&mut self.0),
            InstrumentationEvent::StartQuery { query, .. } if query.to_string().starts_with("COMMIT") => {
                let mut vanishing = VANISHING.lock().unwrap();
                if let Some(file) = vanishing.take_if(|file| self.0.contains(file.to_str().unwrap())) {
                    fs::remove_file(file).unwrap();
                }
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn reports_a_commit_as_uncertain_if_its_file_vanished() {
    set_default_instrumentation(|| Some(Box::<Vanish>::default())).unwrap();
    let folder = Folder::new();
    let storage = folder.open().await;
    storage.put(Record::Blocked(user(1))).await.unwrap();
    *VANISHING.lock().unwrap() = Some(folder.file());
    let told = refusal(storage.put(Record::Blocked(user(2))).await);
    assert!(told.starts_with("it may have been written or not: "), "{told}");
    assert!(told.contains(folder.file().to_str().unwrap()), "{told}");
    let later = refusal(storage.put(Record::Blocked(user(3))).await);
    assert!(later.starts_with("nothing was written: "), "{later}");
}

#[tokio::test]
async fn notices_a_renamed_folder_and_a_redirected_link() {
    let renamed = Folder::new();
    let inner = renamed.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let storage = DieselStorage::open(SqliteOptions::new(inner.join("companion.db"))).await.unwrap();
    storage.put(Record::Blocked(user(1))).await.unwrap();
    fs::rename(&inner, renamed.path().join("elsewhere")).unwrap();
    refusal(storage.put(Record::Blocked(user(2))).await);
    #[cfg(unix)]
    {
        let linked = Folder::new();
        let (link, one, other) =
            (linked.path().join("link"), linked.path().join("one"), linked.path().join("other"));
        for folder in [&one, &other] {
            fs::create_dir(folder).unwrap();
            SqliteOptions::new(folder.join("companion.db")).migrate().unwrap();
        }
        std::os::unix::fs::symlink(&one, &link).unwrap();
        let storage = DieselStorage::open(SqliteOptions::new(link.join("companion.db"))).await.unwrap();
        storage.put(Record::Blocked(user(1))).await.unwrap();
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&other, &link).unwrap();
        refusal(storage.put(Record::Blocked(user(2))).await);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn watches_the_target_of_a_symbolic_link() {
    let folder = Folder::new();
    fs::create_dir(folder.path().join("data")).unwrap();
    std::os::unix::fs::symlink("data/real.db", folder.file()).unwrap();
    let storage = folder.open().await;
    storage.put(Record::Blocked(user(1))).await.unwrap();
    storage.check().await.unwrap();
    fs::remove_file(folder.path().join("data/real.db-wal")).unwrap();
    let told = refusal(storage.put(Record::Blocked(user(2))).await);
    assert!(told.contains("real.db-wal"), "{told}");
}

#[tokio::test]
async fn tolerates_regular_use_by_other_processes() {
    let folder = Folder::new();
    let storage = folder.open().await;
    let mut number = 0;
    let mut still_writes = async |case: &str| {
        number += 1;
        let written = storage.put(Record::Blocked(user(number))).await;
        assert!(written.is_ok(), "{case}: {written:?}");
        storage.check().await.unwrap();
    };
    still_writes("fresh").await;
    // A command beside the service: it migrates, reads, writes, truncates the log and closes.
    let other = folder.open().await;
    other.put(Record::Blocked(user(1000))).await.unwrap();
    other.export(&mut Collected::default()).await.unwrap();
    other.close().await;
    drop(other);
    still_writes("another process came and went").await;
    storage.backup(folder.path().join("one.db")).await.unwrap();
    folder.options().backup(&folder.path().join("two.db")).unwrap();
    still_writes("backups").await;
    let mut tool = folder.connection();
    for statement in ["PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA optimize"] {
        tool.batch_execute(statement).unwrap();
        still_writes(statement).await;
    }
    drop(tool);
    still_writes("a tool came and went").await;
}

#[tokio::test]
async fn closing_keeps_writes_acknowledged_before_the_log_was_deleted() {
    let folder = Folder::new();
    let storage = folder.open().await;
    storage.put(Record::Blocked(user(1))).await.unwrap();
    fs::remove_file(folder.path().join("companion.db-wal")).unwrap();
    refusal(storage.put(Record::Blocked(user(2))).await);
    storage.close().await;
    drop(storage);
    let storage = folder.open().await;
    assert!(storage.is_blocked(user(1)).await.unwrap());
    assert!(!storage.is_blocked(user(2)).await.unwrap());
}

//! Faults map to the right error kind, within a deadline.

use crate::{
    sample::{failure, guild, kind, session, sign_in, user},
    shared::Place,
    sqlite::{folder::Folder, gathering::Lock},
};
use companion_domain::{
    change::Key,
    port::{BlockList, ChangeFeed, Health, Record, Records, SessionStore, StoreErrorKind},
};
use companion_storage_diesel::{DieselStorage, OpenError, SqliteOptions};
use diesel::connection::SimpleConnection;
use std::{
    fs,
    io::Write as _,
    process::Command,
    time::{Duration, Instant},
};

#[tokio::test]
async fn a_locked_database_rejects_writes_and_serves_reads() {
    let folder = Folder::new();
    let options = folder.limited(|limits| limits.max_write_wait = Duration::from_millis(100));
    let storage = DieselStorage::open(options).await.unwrap();
    storage.put(Record::Blocked(user(1))).await.unwrap();
    let lock = Lock::take(&folder);
    let begun = Instant::now();
    assert_eq!(kind(storage.put(Record::Blocked(user(2))).await), StoreErrorKind::Unavailable);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert!(storage.is_blocked(user(1)).await.unwrap());
    // A busy storage is still healthy.
    storage.check().await.unwrap();
    lock.release();
    storage.put(Record::Blocked(user(2))).await.unwrap();
    storage.check().await.unwrap();
}

#[tokio::test]
async fn opening_a_locked_database_fails_with_the_reason() {
    let folder = Folder::new();
    folder.open().await.close().await;
    let lock = Lock::take(&folder);
    let options = folder.limited(|limits| limits.max_write_wait = Duration::from_millis(50));
    let refused = DieselStorage::open(options).await.unwrap_err();
    assert!(matches!(refused, OpenError::Locked { .. }), "{refused}");
    lock.release();
}

#[tokio::test]
async fn a_read_only_database_rejects_writes_and_serves_reads() {
    let folder = Folder::new();
    folder.open().await.put(Record::Blocked(user(1))).await.unwrap();
    let options = SqliteOptions { writer_setup: "PRAGMA query_only = ON".to_owned(), ..folder.options() };
    let storage = DieselStorage::open(options).await.unwrap();
    // Nothing has been written yet, so no failure is known.
    storage.check().await.unwrap();
    assert_eq!(kind(storage.put(Record::Blocked(user(2))).await), StoreErrorKind::Unavailable);
    let unfit = storage.check().await.unwrap_err();
    assert!(unfit.cause.to_string().contains("readonly"), "{}", unfit.cause);
    assert!(storage.is_blocked(user(1)).await.unwrap());
    assert!(!storage.is_blocked(user(2)).await.unwrap());
}

#[tokio::test]
async fn a_full_disk_rejects_writes_and_fails_the_health_check() {
    let folder = Folder::new();
    let options = SqliteOptions {
        // A few pages more than the empty tables take.
        writer_setup: "PRAGMA max_page_count = 40".to_owned(),
        ..folder.options()
    };
    let storage = DieselStorage::open(options).await.unwrap();
    storage.check().await.unwrap();
    let mut outside = folder.connection();
    let filling = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
        INSERT INTO guilds (id, name, members, owner, setup, linked, bindings)
            SELECT i + 1000000, 'Guild', 1, 1, 1, 0, '{}' FROM n";
    outside.batch_execute("PRAGMA busy_timeout = 5000").unwrap();
    outside.batch_execute(filling).unwrap();
    let mut number = 1;
    let refused = loop {
        match storage.put(Record::Guild(guild(number))).await {
            Ok(_) => number += 1,
            refused => break kind(refused),
        }
        assert!(number < 1000, "the disk is not full");
    };
    assert_eq!(refused, StoreErrorKind::Unavailable);
    assert_eq!(Records::find(&storage, &Key::Guild(guild(number).id)).await.unwrap(), None);
    for _ in 0..3 {
        let unfit = storage.check().await.unwrap_err();
        assert_eq!(unfit.kind, StoreErrorKind::Unavailable);
        assert!(unfit.cause.to_string().contains("full"), "{}", unfit.cause);
        assert!(Records::find(&storage, &Key::Guild(guild(1_000_500).id)).await.unwrap().is_some());
    }
    // The health check finds by itself that there is room again.
    outside.batch_execute("DELETE FROM guilds").unwrap();
    let before = storage.latest().await.unwrap();
    storage.check().await.unwrap();
    assert_eq!(storage.latest().await.unwrap(), before, "asking is no change");
    storage.put(Record::Guild(guild(1))).await.unwrap();
}

#[tokio::test]
async fn rejects_a_damaged_file_unchanged() {
    let healthy = Folder::new();
    let storage = healthy.open().await;
    for number in 1..=500 {
        storage.put(Record::Guild(guild(number))).await.unwrap();
    }
    storage.close().await;
    drop(storage);
    let whole = fs::read(healthy.file()).unwrap();
    let mut scribbled = whole.clone();
    scribbled[8192..12288].fill(0xA5);
    let cases = [
        ("text", b"This is a text file, not an SQLite database.".repeat(200)),
        ("cut in half", whole[..whole.len() / 2].to_vec()),
        ("scribbled over", scribbled),
        ("header gone", [vec![0; 100], whole[100..].to_vec()].concat()),
    ];
    for (name, content) in cases {
        let folder = Folder::new();
        fs::write(folder.file(), &content).unwrap();
        let refused = DieselStorage::open(folder.options()).await.unwrap_err();
        assert!(matches!(refused, OpenError::Damaged { .. }), "{name}: {refused:?}");
        assert!(refused.to_string().contains("left as it is"), "{refused}");
        assert_eq!(fs::read(folder.file()).unwrap(), content, "{name}");
    }
}

#[tokio::test]
async fn a_damaged_page_is_unavailable_rather_than_absent() {
    let folder = Folder::new();
    let storage = folder.open().await;
    for number in 1..=500 {
        storage.put(Record::Guild(guild(number))).await.unwrap();
    }
    storage.close().await;
    drop(storage);
    let storage = folder.open().await;
    // Everything but the first page, which all connections have cached.
    let mut scribbled = fs::read(folder.file()).unwrap();
    scribbled[1024..].fill(0xA5);
    fs::write(folder.file(), scribbled).unwrap();
    assert_eq!(kind(Records::find(&storage, &Key::Guild(guild(250).id)).await), StoreErrorKind::Unavailable);
}

#[tokio::test]
async fn rejects_writes_while_the_file_is_damaged() {
    let folder = Folder::new();
    let storage = folder.open().await;
    storage.put(Record::Blocked(user(1))).await.unwrap();
    // Reads now use the file instead of the log, and the writer has its pages cached.
    folder.run("PRAGMA wal_checkpoint(PASSIVE)");
    let sound = fs::read(folder.file()).unwrap();
    // The file must never be empty in between: SQLite deletes the log beside an empty file.
    let overwrite = |bytes: &[u8]| {
        let mut file = fs::OpenOptions::new().write(true).open(folder.file()).unwrap();
        file.write_all(bytes).unwrap();
    };
    overwrite(&vec![0xA5; sound.len()]);
    storage.check().await.unwrap_err();
    for number in 2..5 {
        let refused = failure(storage.put(Record::Blocked(user(number))).await);
        assert_eq!(refused.kind, StoreErrorKind::Unavailable, "{refused:?}");
        let told = refused.cause.to_string();
        assert!(told.starts_with("nothing was written: the database is damaged: "), "{told}");
        assert_eq!(told.matches("is damaged").count(), 1, "{told}");
        storage.check().await.unwrap_err();
    }
    overwrite(&sound);
    let sound_again = async { while storage.check().await.is_err() {} };
    tokio::time::timeout(Duration::from_secs(30), sound_again).await.unwrap();
    storage.put(Record::Blocked(user(5))).await.unwrap();
    storage.close().await;
    drop(storage);
    let storage = folder.open().await;
    let mut kept = Vec::new();
    for number in 1..=5 {
        kept.push(storage.is_blocked(user(number)).await.unwrap());
    }
    assert_eq!(kept, [true, false, false, false, true]);
}

#[tokio::test]
async fn rejects_an_empty_file_beside_a_log() {
    let folder = Folder::new();
    fs::write(folder.file(), "").unwrap();
    fs::write(folder.path().join("companion.db-wal"), "something").unwrap();
    let refused = DieselStorage::open(folder.options()).await.unwrap_err();
    assert!(matches!(refused, OpenError::Damaged { .. }), "{refused:?}");
    fs::remove_file(folder.file()).unwrap();
    let OpenError::Damaged(_, cause) = DieselStorage::open(folder.options()).await.unwrap_err() else {
        panic!("that is another fault")
    };
    assert!(cause.to_string().contains("no such file"), "{cause}");
}

#[tokio::test]
async fn opening_in_a_missing_folder_fails() {
    let folder = Folder::new();
    let options = SqliteOptions::new(folder.path().join("no/such/companion.db"));
    let refused = DieselStorage::open(options).await.unwrap_err();
    assert!(matches!(refused, OpenError::Unusable { .. }), "{refused:?}");
}

/// Runs the next test in a process with a file size limit, which simulates a disk that fails during a commit.
#[cfg(unix)]
#[test]
fn rejects_writes_after_a_failed_disk_sync_until_restart() {
    let folder = Folder::new();
    let program = std::env::current_exe().unwrap();
    let output = Command::new("sh")
        .arg("-c")
        .arg("trap '' XFSZ; ulimit -f 600; exec \"$0\" --exact sqlite::faults::in_a_process_with_small_files --include-ignored --nocapture")
        .arg(program)
        .env("SMALL_FILES_FOLDER", folder.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && told.contains("1 passed"),
        "{told}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test]
#[ignore = "the test above runs it in a process of its own"]
async fn in_a_process_with_small_files() {
    let Some(folder) = std::env::var_os("SMALL_FILES_FOLDER") else {
        return;
    };
    let options = SqliteOptions::new(std::path::Path::new(&folder).join("companion.db"));
    let storage = DieselStorage::open(options.clone()).await.unwrap();
    let mut answered = 0;
    let refused = loop {
        match sign_in(&storage, answered).await {
            Ok(_) => answered += 1,
            Err(error) => break error,
        }
        assert!(answered < 100_000);
    };
    assert_eq!(refused.kind, StoreErrorKind::Unavailable, "{refused:?}");
    let told = refused.cause.to_string();
    assert!(told.starts_with("it may have been written or not: "), "{told}");
    assert!(storage.statistics().has_given_up);
    let later = failure(storage.put(Record::Blocked(user(1))).await).cause.to_string();
    assert!(later.starts_with("nothing was written: ") && later.contains("restart"), "{later}");
    assert_eq!(kind(storage.check().await), StoreErrorKind::Unavailable);
    // Reads continue, and every acknowledged session exists.
    for number in 0..answered {
        assert!(SessionStore::find(&storage, &session(number).id).await.unwrap().is_some());
    }
}

//! Concurrent writes share a commit, and fail alone.

use crate::{
    sample::{failure, session, sign_in, user},
    shared::Place,
    sqlite::folder::Folder,
};
use companion_domain::{
    port::{BlockList, Record, Records, SessionStore, StoreError, StoreErrorKind},
    session::Session,
};
use companion_storage_diesel::DieselStorage;
use diesel::{SqliteConnection, connection::SimpleConnection};
use tokio::task::JoinHandle;

/// Holds the write lock of the database, so that all writes wait.
pub(crate) struct Lock(SqliteConnection);

impl Lock {
    pub(crate) fn take(folder: &Folder) -> Self {
        let mut connection = folder.connection();
        connection.batch_execute("PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE").unwrap();
        Self(connection)
    }

    pub(crate) fn release(mut self) {
        self.0.batch_execute("COMMIT").unwrap();
    }
}

/// Returns when every task spawned before has submitted its write. The runtime of these tests has one thread, on which
/// tasks run in turn and submit first.
async fn all_submitted() {
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
}

/// Begins to sign a user in.
fn spawn_sign_in(storage: &DieselStorage, number: u64) -> JoinHandle<Result<Vec<Session>, StoreError>> {
    let storage = storage.clone();
    tokio::spawn(async move { sign_in(&storage, number).await })
}

#[tokio::test]
async fn queued_writes_share_a_commit() {
    let folder = Folder::new();
    let storage = folder.open().await;
    let lock = Lock::take(&folder);
    let tasks: Vec<_> = (0..100).map(|number| spawn_sign_in(&storage, number)).collect();
    // The first batch waits for the lock; all other writes queue behind it.
    all_submitted().await;
    lock.release();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let statistics = storage.statistics();
    assert_eq!(statistics.writes, 100);
    assert!(statistics.commits <= 3, "{} commits for 100 writes", statistics.commits);
}

#[tokio::test]
async fn a_failed_write_does_not_fail_its_batch() {
    let folder = Folder::new();
    let storage = folder.open().await;
    sign_in(&storage, 1).await.unwrap();
    let lock = Lock::take(&folder);
    let create = |number| spawn_sign_in(&storage, number);
    let busy = create(2);
    all_submitted().await;
    let (before, failing, after) = (create(3), create(1), create(4));
    all_submitted().await;
    lock.release();
    busy.await.unwrap().unwrap();
    before.await.unwrap().unwrap();
    after.await.unwrap().unwrap();
    assert_eq!(failing.await.unwrap().unwrap_err().kind, StoreErrorKind::Conflict);
    for number in [1, 2, 3, 4] {
        assert!(SessionStore::find(&storage, &session(number).id).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn cancelled_writes_leave_no_open_transaction() {
    let folder = Folder::new();
    let storage = folder.open().await;
    let lock = Lock::take(&folder);
    let leaving: Vec<_> = (0..20).map(|number| spawn_sign_in(&storage, number)).collect();
    all_submitted().await;
    leaving.iter().for_each(JoinHandle::abort);
    lock.release();
    // The writer continues, and another process can take the write lock.
    storage.put(Record::Blocked(user(1))).await.unwrap();
    assert!(storage.is_blocked(user(1)).await.unwrap());
    Lock::take(&folder).release();
}

#[tokio::test]
async fn close_completes_queued_writes_and_rejects_later_ones() {
    let folder = Folder::new();
    let storage = folder.open().await;
    let lock = Lock::take(&folder);
    let tasks: Vec<_> = (0..20).map(|number| spawn_sign_in(&storage, number)).collect();
    all_submitted().await;
    let closing = tokio::spawn({
        let storage = storage.clone();
        async move { storage.close().await }
    });
    lock.release();
    closing.await.unwrap();
    for (number, task) in (0..).zip(tasks) {
        task.await.unwrap().unwrap();
        assert!(SessionStore::find(&storage, &session(number).id).await.unwrap().is_some());
    }
    let later = failure(storage.put(Record::Blocked(user(1))).await);
    assert_eq!(later.kind, StoreErrorKind::Unavailable);
}

//! Concurrent writes share a commit, and fail alone.

use crate::{
    sample::{CAP, NOTHING_ENDED, failure, session, user},
    shared::Place,
    sqlite::folder::Folder,
};
use companion_domain::{
    model::{CodeFingerprint, Timestamp},
    port::{
        BlockList, GrantContent, Record, Records, SessionStore, SignIns, SpentCodes, StoreError,
        StoreErrorKind,
    },
};
use companion_storage_diesel::{DieselStorage, Statistics};
use diesel::{SqliteConnection, connection::SimpleConnection};

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

/// Runs `work` a hundred times while the writer is busy. Returns the statistics when all are done.
async fn a_hundred_at_once<T: Send + 'static, W>(work: impl Fn(DieselStorage, u8) -> W) -> Statistics
where
    W: Future<Output = Result<T, StoreError>> + Send + 'static,
{
    let folder = Folder::new();
    let storage = folder.open().await;
    let lock = Lock::take(&folder);
    let tasks: Vec<_> = (0..100).map(|number| tokio::spawn(work(storage.clone(), number))).collect();
    // The first batch waits for the lock; all other writes queue behind it.
    all_submitted().await;
    lock.release();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    storage.statistics()
}

#[tokio::test]
async fn queued_writes_share_a_commit() {
    let create = |storage: DieselStorage, number: u8| async move {
        storage.create(&session(number.into()), CAP, NOTHING_ENDED).await
    };
    let statistics = a_hundred_at_once(create).await;
    assert_eq!(statistics.writes, 100);
    assert!(statistics.commits <= 3, "{} commits for 100 writes", statistics.commits);
}

#[tokio::test]
async fn concurrent_sign_ins_share_commits() {
    let sign_in = |storage: DieselStorage, number: u8| async move {
        let code = CodeFingerprint::from_bytes([number; 32]);
        assert!(storage.spend(&code, Timestamp::EPOCH, Timestamp::EPOCH).await?);
        let grant = GrantContent::default();
        storage.begin(&session(number.into()), CAP, NOTHING_ENDED, &grant).await
    };
    let statistics = a_hundred_at_once(sign_in).await;
    assert_eq!(statistics.writes, 200, "a code, and a session with its grant");
    // The codes share at most two commits. Answered tasks continue at once, so the disk decides how many share the next
    // commits.
    assert!(statistics.commits <= 50, "{} commits for 100 sign-ins", statistics.commits);
}

#[tokio::test]
async fn a_failed_write_does_not_fail_its_batch() {
    let folder = Folder::new();
    let storage = folder.open().await;
    storage.create(&session(1), CAP, NOTHING_ENDED).await.unwrap();
    let lock = Lock::take(&folder);
    let create = |number| {
        let storage = storage.clone();
        tokio::spawn(async move { storage.create(&session(number), CAP, NOTHING_ENDED).await })
    };
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
    let leaving: Vec<_> = (0..20)
        .map(|number| {
            let storage = storage.clone();
            tokio::spawn(async move { storage.create(&session(number), CAP, NOTHING_ENDED).await })
        })
        .collect();
    all_submitted().await;
    leaving.iter().for_each(tokio::task::JoinHandle::abort);
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
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let storage = storage.clone();
            tokio::spawn(async move { storage.create(&session(number), CAP, NOTHING_ENDED).await })
        })
        .collect();
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

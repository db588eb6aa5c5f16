//! Faults map to the right error kind, within a deadline, and end with their cause.

mod opening;
mod outage;

use crate::{
    postgres::{
        proxy::{CommitResponse, Proxy},
        schema::{Schema, server},
    },
    sample::{failure, kind, user},
    shared::Place,
};
use companion_domain::{
    change::Tally,
    model::Secret,
    port::{BlockList, Record, Records, StoreErrorKind},
};
use companion_storage_diesel::{DieselStorage, PostgresOptions};
use diesel::{PgConnection, connection::SimpleConnection};
use std::time::{Duration, Instant};

/// Deadline for every operation, whatever happens.
const IN_TIME: Duration = Duration::from_secs(2);

/// Options with short timeouts.
pub(crate) fn impatient(schema: &Schema) -> PostgresOptions {
    let mut options = schema.options();
    let timeout = Duration::from_millis(300);
    (options.limits.max_write_wait, options.statement_timeout) = (timeout, timeout);
    options
}

/// A transaction outside the storage that holds locks until it is dropped.
pub(crate) struct HeldLock(PgConnection);

impl HeldLock {
    pub(crate) fn take(schema: &Schema, statement: &str) -> Self {
        let mut connection = schema.connection();
        connection.batch_execute(&format!("BEGIN; {statement}")).unwrap();
        Self(connection)
    }

    pub(crate) fn release(mut self) {
        self.0.batch_execute("COMMIT").unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_write_lock_rejects_writes_and_allows_reads() {
    let schema = Schema::new();
    let storage = DieselStorage::open_postgres(impatient(&schema)).await.unwrap();
    storage.put(Record::Blocked(user(1))).await.unwrap();
    let holding = HeldLock::take(&schema, "SELECT id FROM history FOR UPDATE");
    let begun = Instant::now();
    assert_eq!(kind(storage.put(Record::Blocked(user(2))).await), StoreErrorKind::Unavailable);
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    assert!(storage.is_blocked(user(1)).await.unwrap());
    holding.release();
    storage.put(Record::Blocked(user(2))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_statement_times_out() {
    let schema = Schema::new();
    let storage = DieselStorage::open_postgres(impatient(&schema)).await.unwrap();
    let holding = HeldLock::take(&schema, "LOCK TABLE blocked IN ACCESS EXCLUSIVE MODE");
    let begun = Instant::now();
    assert_eq!(kind(storage.is_blocked(user(1)).await), StoreErrorKind::Unavailable);
    assert_eq!(kind(storage.put(Record::Blocked(user(1))).await), StoreErrorKind::Unavailable);
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    holding.release();
    assert_eq!(storage.put(Record::Blocked(user(1))).await.unwrap(), Tally::ADDED);
    assert!(storage.is_blocked(user(1)).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_connection_fails_and_rolls_back_its_write() {
    let schema = Schema::new();
    let storage = schema.open().await;
    storage.put(Record::Blocked(user(1))).await.unwrap();
    let holding = HeldLock::take(&schema, "LOCK TABLE blocked IN EXCLUSIVE MODE");
    let writing = tokio::spawn({
        let storage = storage.clone();
        async move { storage.put(Record::Blocked(user(2))).await }
    });
    while schema.sessions("INSERT INTO blocked%") == 0 {
        assert!(!writing.is_finished(), "was not held up");
        tokio::task::yield_now().await;
    }
    schema.cut_off("INSERT INTO blocked%");
    assert_eq!(kind(writing.await.unwrap()), StoreErrorKind::Unavailable);
    holding.release();
    assert!(!storage.is_blocked(user(2)).await.unwrap());
    assert_eq!(storage.put(Record::Blocked(user(2))).await.unwrap(), Tally::ADDED);
    assert!(storage.is_blocked(user(1)).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn replaces_killed_idle_connections_transparently() {
    let schema = Schema::new();
    let storage = schema.open().await;
    for number in 1..=2 {
        storage.put(Record::Blocked(user(number))).await.unwrap();
        assert!(storage.is_blocked(user(number)).await.unwrap());
        schema.cut_off("COMMIT%");
        storage.put(Record::Blocked(user(number + 100))).await.unwrap();
    }
}

/// Opens a storage whose connections all go through the proxy.
async fn behind(proxy: &Proxy, schema: &Schema, options: PostgresOptions) -> DieselStorage {
    let url = schema.url_at(&proxy.url(&server()));
    DieselStorage::open_postgres(PostgresOptions { url: Secret::new(url), ..options }).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_commit_response_is_reported_as_uncertain() {
    let schema = Schema::new();
    let proxy = Proxy::to(&server());
    let storage = behind(&proxy, &schema, schema.options()).await;
    for number in 1..=2 {
        proxy.next_commit(CommitResponse::Disconnected);
        let error = failure(storage.put(Record::Blocked(user(number))).await);
        assert_eq!(error.kind, StoreErrorKind::Unavailable);
        assert!(error.cause.to_string().contains("may have been written"), "{}", error.cause);
        // The outcome was uncertain to the caller, but it was written. A retry is idempotent.
        assert!(storage.is_blocked(user(number)).await.unwrap());
        assert_eq!(storage.put(Record::Blocked(user(number))).await.unwrap(), Tally::NOTHING);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replaces_the_connection_to_an_unresponsive_server() {
    let schema = Schema::new();
    let proxy = Proxy::to(&server());
    let storage = behind(&proxy, &schema, impatient(&schema)).await;
    proxy.next_commit(CommitResponse::Withheld);
    let begun = Instant::now();
    assert_eq!(kind(storage.put(Record::Blocked(user(1))).await), StoreErrorKind::Unavailable);
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    assert!(storage.is_blocked(user(1)).await.unwrap());
    let begun = Instant::now();
    while storage.put(Record::Blocked(user(2))).await.is_err() {
        assert!(begun.elapsed() < Duration::from_secs(10), "no new connection took over");
    }
    assert!(storage.is_blocked(user(2)).await.unwrap());
}

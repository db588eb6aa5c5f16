//! Faults map to the right error kind, within a deadline, and end with their cause.

mod opening;
mod outage;

use crate::{
    postgres::{
        proxy::{Fate, Proxy},
        schema::{Schema, server},
    },
    sample::{failure, user},
    shared::Place,
};
use companion_domain::{
    change::{Key, Tally},
    model::Secret,
    port::{ApplyError, BlockList, Record, Records, StoreErrorKind},
};
use companion_storage_diesel::{DieselStorage, PostgresOptions};
use diesel::{PgConnection, connection::SimpleConnection};
use std::{
    num::NonZeroU32,
    time::{Duration, Instant},
};

/// Deadline for every operation, whatever happens.
const IN_TIME: Duration = Duration::from_secs(2);

fn kind<T: std::fmt::Debug>(result: Result<T, impl Into<ApplyError>>) -> StoreErrorKind {
    failure(result).kind
}

/// Options with short timeouts.
pub(crate) fn impatient(schema: &Schema) -> PostgresOptions {
    PostgresOptions {
        write_patience: Duration::from_millis(300),
        statement_timeout: Duration::from_millis(300),
        ..schema.options()
    }
}

/// A transaction outside the storage that holds locks until it is dropped.
pub(crate) struct Holding(PgConnection);

impl Holding {
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
async fn a_node_that_keeps_the_writers_lock_makes_others_unavailable_for_writes_and_no_reads() {
    let schema = Schema::new();
    let storage = DieselStorage::open_postgres(impatient(&schema)).await.unwrap();
    storage.put(Record::Blocked(user(1))).await.unwrap();
    let holding = Holding::take(&schema, "SELECT id FROM history FOR UPDATE");
    let begun = Instant::now();
    assert_eq!(kind(storage.put(Record::Blocked(user(2))).await), StoreErrorKind::Unavailable);
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    assert!(storage.is_blocked(user(1)).await.unwrap());
    holding.release();
    storage.put(Record::Blocked(user(2))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_takes_too_long_is_unavailable_in_time() {
    let schema = Schema::new();
    let storage = DieselStorage::open_postgres(impatient(&schema)).await.unwrap();
    let holding = Holding::take(&schema, "LOCK TABLE blocked IN ACCESS EXCLUSIVE MODE");
    let begun = Instant::now();
    assert_eq!(kind(storage.is_blocked(user(1)).await), StoreErrorKind::Unavailable);
    assert_eq!(kind(storage.put(Record::Blocked(user(1))).await), StoreErrorKind::Unavailable);
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    holding.release();
    assert_eq!(storage.put(Record::Blocked(user(1))).await.unwrap(), Tally::ADDED);
    assert!(storage.is_blocked(user(1)).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_killed_in_mid_transaction_fails_that_write_alone_and_undoes_it() {
    let schema = Schema::new();
    let storage = schema.open().await;
    storage.put(Record::Blocked(user(1))).await.unwrap();
    let holding = Holding::take(&schema, "LOCK TABLE blocked IN EXCLUSIVE MODE");
    let writing = tokio::spawn({
        let storage = storage.clone();
        async move { storage.put(Record::Blocked(user(2))).await }
    });
    while schema.sessions("INSERT INTO \"blocked\"%") == 0 {
        assert!(!writing.is_finished(), "was not held up");
        tokio::task::yield_now().await;
    }
    schema.cut_off("INSERT INTO \"blocked\"%");
    assert_eq!(kind(writing.await.unwrap()), StoreErrorKind::Unavailable);
    holding.release();
    assert!(!storage.is_blocked(user(2)).await.unwrap());
    assert_eq!(storage.put(Record::Blocked(user(2))).await.unwrap(), Tally::ADDED);
    assert!(storage.is_blocked(user(1)).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_that_were_killed_are_replaced_and_nobody_notices() {
    let schema = Schema::new();
    let storage = schema.open().await;
    for number in 1..=5 {
        storage.put(Record::Blocked(user(number))).await.unwrap();
        assert!(storage.is_blocked(user(number)).await.unwrap());
        schema.cut_off("COMMIT%");
        storage.put(Record::Blocked(user(number + 100))).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_finds_every_connection_busy_is_refused_in_time() {
    let schema = Schema::new();
    let options = PostgresOptions { readers: NonZeroU32::MIN, ..schema.options() };
    let storage = DieselStorage::open_postgres(options).await.unwrap();
    let holding = Holding::take(&schema, "LOCK TABLE blocked IN ACCESS EXCLUSIVE MODE");
    let occupying = tokio::spawn({
        let storage = storage.clone();
        async move { storage.is_blocked(user(1)).await }
    });
    while storage.statistics().readers_idle > 0 {
        tokio::task::yield_now().await;
    }
    let begun = Instant::now();
    let guild = crate::sample::guild(1).id;
    assert_eq!(kind(Records::find(&storage, &Key::Guild(guild)).await), StoreErrorKind::Unavailable);
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    holding.release();
    occupying.await.unwrap().unwrap();
    Records::find(&storage, &Key::Guild(guild)).await.unwrap();
}

/// Opens a storage whose connections all go through the proxy.
async fn behind(proxy: &Proxy, schema: &Schema, options: PostgresOptions) -> DieselStorage {
    let url = schema.url_at(&proxy.url(&server()));
    DieselStorage::open_postgres(PostgresOptions { url: Secret::new(url), ..options }).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_lost_after_the_commit_is_unavailable_and_what_was_written_stays() {
    let schema = Schema::new();
    let proxy = Proxy::to(&server());
    let storage = behind(&proxy, &schema, schema.options()).await;
    for number in 1..=3 {
        proxy.next_commit(Fate::Cut);
        let error = failure(storage.put(Record::Blocked(user(number))).await);
        assert_eq!(error.kind, StoreErrorKind::Unavailable);
        assert!(error.cause.to_string().contains("may have been written"), "{}", error.cause);
        // The outcome was uncertain to the caller, but it was written. A retry is idempotent.
        assert!(storage.is_blocked(user(number)).await.unwrap());
        assert_eq!(storage.put(Record::Blocked(user(number))).await.unwrap(), Tally::NOTHING);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_talking_is_unavailable_in_time_and_a_new_connection_takes_over() {
    let schema = Schema::new();
    let proxy = Proxy::to(&server());
    let storage = behind(&proxy, &schema, impatient(&schema)).await;
    proxy.next_commit(Fate::Muted);
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

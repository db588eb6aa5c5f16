//! Server outages and recovery.

use super::IN_TIME;
use crate::{
    postgres::schema::Schema,
    sample::{kind, session, sign_in, user},
    shared::Place,
};
use companion_domain::{
    change::Key,
    port::{ApplyError, BlockList, ChangeFeed, Health, Record, Records, SessionStore, StoreErrorKind},
};
use companion_storage_diesel::DieselStorage;
use std::{
    fmt,
    time::{Duration, Instant},
};
use xtask::postgres::{Cluster, Shutdown};

/// Time within which everything works after the server is back.
const RECOVERY: Duration = Duration::from_secs(5);

/// Retries until it succeeds, and returns how long that took.
async fn until_it_works<T: fmt::Debug, E: Into<ApplyError>>(
    mut attempt: impl AsyncFnMut() -> Result<T, E>,
) -> Duration {
    let begun = Instant::now();
    loop {
        match attempt().await {
            Ok(_) => return begun.elapsed(),
            refused => assert_eq!(kind(refused), StoreErrorKind::Unavailable),
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "does not recover");
        tokio::task::yield_now().await;
    }
}

/// Stops the server while users sign in, and starts it again. The sessions have numbers from `first`.
async fn outage(cluster: &mut Cluster, schema: &Schema, how: Shutdown, first: u64) {
    let mut options = schema.options();
    options.limits.max_read_wait = Duration::from_millis(100);
    let storage = DieselStorage::open_postgres(options).await.unwrap();
    let witness = schema.open().await;
    let signing_in = tokio::spawn(sign_in_until_refused(storage.clone(), first));
    while storage.statistics().writes < 50 {
        tokio::task::yield_now().await;
    }
    cluster.stop(how).unwrap();
    let next = signing_in.await.unwrap();
    assert!(next >= first + 50);
    for _ in 0..2 {
        let begun = Instant::now();
        assert_eq!(kind(storage.put(Record::Blocked(user(1))).await), StoreErrorKind::Unavailable);
        assert_eq!(kind(storage.is_blocked(user(1)).await), StoreErrorKind::Unavailable);
        assert_eq!(kind(storage.check().await), StoreErrorKind::Unavailable);
        assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    }
    cluster.start_again().unwrap();
    let begun = Instant::now();
    until_it_works(async || storage.check().await).await;
    until_it_works(async || storage.is_blocked(user(1)).await).await;
    until_it_works(async || storage.put(Record::Blocked(user(1))).await).await;
    assert!(begun.elapsed() < RECOVERY, "{:?}", begun.elapsed());
    // Every acknowledged session exists, and notifications arrive again.
    for number in first..next {
        let found = SessionStore::find(&storage, &session(number).id).await.unwrap();
        assert!(found.is_some(), "session {number} is lost");
    }
    until_it_works(async || witness.latest().await).await;
    let before = witness.latest().await.unwrap();
    let waiting = tokio::spawn(async move {
        tokio::time::timeout(Duration::from_secs(10), witness.wait_for_change(before)).await.unwrap();
        begun.elapsed()
    });
    storage.put(Record::Blocked(user(first))).await.unwrap();
    let heard = waiting.await.unwrap();
    assert!(heard < RECOVERY, "{heard:?}");
}

/// Creates sessions until one is rejected, and returns its number.
async fn sign_in_until_refused(storage: DieselStorage, first: u64) -> u64 {
    let mut number = first;
    loop {
        match sign_in(&storage, number).await {
            Ok(_) => number += 1,
            Err(error) => {
                assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error:?}");
                return number;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn recovers_from_a_restart_a_crash_and_a_read_only_time() {
    let mut cluster = Cluster::start().unwrap();
    let schema = Schema::on(&cluster.url("postgres"));
    outage(&mut cluster, &schema, Shutdown::Fast, 1_000_000).await;
    outage(&mut cluster, &schema, Shutdown::Immediate, 2_000_000).await;
    rejects_writes_while_the_server_is_read_only(&schema).await;
}

async fn rejects_writes_while_the_server_is_read_only(schema: &Schema) {
    let storage = schema.open().await;
    storage.put(Record::Blocked(user(1))).await.unwrap();
    schema.run("ALTER SYSTEM SET default_transaction_read_only = on");
    schema.run("SELECT pg_reload_conf()");
    // The server reloads its configuration asynchronously.
    let begun = Instant::now();
    let refused = loop {
        match storage.put(Record::Blocked(user(2))).await {
            Ok(_) => assert!(begun.elapsed() < Duration::from_secs(10), "still writes"),
            refused => break kind(refused),
        }
        let _ = storage.remove(Key::Blocked(user(2))).await;
    };
    assert_eq!(refused, StoreErrorKind::Unavailable);
    assert_eq!(kind(storage.check().await), StoreErrorKind::Unavailable);
    assert!(storage.is_blocked(user(1)).await.unwrap());
    schema.run("ALTER SYSTEM RESET default_transaction_read_only");
    schema.run("SELECT pg_reload_conf()");
    let took = until_it_works(async || storage.put(Record::Blocked(user(2))).await).await;
    assert!(took < RECOVERY, "{took:?}");
    storage.check().await.unwrap();
}

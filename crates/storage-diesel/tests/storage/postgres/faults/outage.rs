//! Server outages and recovery.

use super::{IN_TIME, kind};
use crate::{
    postgres::schema::Schema,
    sample::{CAP, NOTHING_ENDED, session, user},
    shared::Place,
};
use companion_domain::{
    change::Key,
    port::{ApplyError, BlockList, ChangeFeed, Health, Record, Records, SessionStore, StoreErrorKind},
};
use companion_storage_diesel::{DieselStorage, PostgresOptions};
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

async fn outage(how: Shutdown) {
    let mut cluster = Cluster::start().unwrap();
    let schema = Schema::on(&cluster.url("postgres"));
    let options = PostgresOptions { max_read_wait: Duration::from_millis(100), ..schema.options() };
    let storage = DieselStorage::open_postgres(options).await.unwrap();
    let witness = schema.open().await;
    let signing_in = tokio::spawn(sign_in_until_refused(storage.clone()));
    while storage.statistics().writes < 50 {
        tokio::task::yield_now().await;
    }
    cluster.stop(how).unwrap();
    let answered = signing_in.await.unwrap();
    assert!(answered >= 50);
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
    for number in 0..answered {
        assert!(
            SessionStore::find(&storage, &session(number).id).await.unwrap().is_some(),
            "session {number} is lost"
        );
    }
    until_it_works(async || witness.latest().await).await;
    let before = witness.latest().await.unwrap();
    let waiting = tokio::spawn(async move {
        tokio::time::timeout(Duration::from_secs(10), witness.wait_for_change(before)).await.unwrap();
        begun.elapsed()
    });
    storage.put(Record::Blocked(user(2))).await.unwrap();
    let heard = waiting.await.unwrap();
    assert!(heard < RECOVERY, "{heard:?}");
}

/// Creates sessions until one is rejected, and returns their number.
async fn sign_in_until_refused(storage: DieselStorage) -> u64 {
    let mut made = 0;
    loop {
        match storage.create(&session(made), CAP, NOTHING_ENDED).await {
            Ok(_) => made += 1,
            Err(error) => {
                assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error:?}");
                return made;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn recovers_from_a_restart_without_losing_writes() {
    outage(Shutdown::Fast).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn recovers_from_a_crash_without_losing_writes() {
    outage(Shutdown::Immediate).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_server_rejects_writes_and_serves_reads() {
    let cluster = Cluster::start().unwrap();
    let schema = Schema::on(&cluster.url("postgres"));
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

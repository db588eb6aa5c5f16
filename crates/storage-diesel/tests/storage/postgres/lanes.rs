//! Urgent writes do not wait for a sync, other writes time out early, and an idle sync takes no connection.

use crate::{
    postgres::{
        faults::{HeldLock, impatient},
        schema::Schema,
    },
    sample::{Halting, Stream, failure, guilds, session, sign_in, user},
    shared::Place,
};
use companion_domain::{
    change::{Changes, Kind, Revision},
    model::{CodeFingerprint, Timestamp},
    port::{BlockList, ChangeFeed, Health, Mutation, Record, Records, Replace, SpentCodes, StoreErrorKind},
};
use companion_storage_diesel::DieselStorage;
use companion_testkit::world::a_heartbeat;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Signs a user in and reports for a cluster: three urgent writes.
async fn sign_in_and_report(storage: &DieselStorage, number: u64) {
    let time = Timestamp::from_micros(i64::try_from(number).unwrap());
    let mut code = [0; 32];
    code[..8].copy_from_slice(&number.to_be_bytes());
    assert!(storage.spend(&CodeFingerprint::from_bytes(code), time, time).await.unwrap());
    sign_in(storage, number).await.unwrap();
    storage.write(Mutation::Report(a_heartbeat("one", time))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn urgent_writes_run_during_a_merge_and_others_time_out() {
    let schema = Schema::new();
    let options = impatient(&schema);
    let merging = DieselStorage::open_postgres(options.clone()).await.unwrap();
    let other = DieselStorage::open_postgres(options).await.unwrap();
    // The merge blocks in the middle of its writes.
    let holding = HeldLock::take(&schema, "LOCK TABLE guilds IN EXCLUSIVE MODE");
    let syncing = tokio::spawn({
        let storage = merging.clone();
        async move {
            let mut source = Stream::of(guilds(1..=1500));
            storage.sync(&Replace::default(), &mut source).await
        }
    });
    while schema.sessions("INSERT INTO guilds%") == 0 {
        assert!(!syncing.is_finished(), "was not held up");
        tokio::task::yield_now().await;
    }
    for (number, storage) in (0..).zip([&merging, &other, &merging, &other]) {
        sign_in_and_report(storage, number).await;
    }
    for storage in [&merging, &other] {
        let begun = Instant::now();
        assert_eq!(failure(storage.put(Record::Blocked(user(1))).await).kind, StoreErrorKind::Unavailable);
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        storage.check().await.unwrap();
    }
    let before = other.latest().await.unwrap();
    assert!(!syncing.is_finished());
    holding.release();
    assert_eq!(syncing.await.unwrap().unwrap().tally.added, 1500);
    sign_in_and_report(&other, 9).await;
    // Revisions are gap-free, whatever the order was.
    let Changes::Listed(changes) = other.since(Revision(0)).await.unwrap() else { panic!("a gap") };
    let revisions: Vec<_> = changes.iter().map(|change| change.revision.0).collect();
    assert_eq!(revisions, (1..=changes.len() as u64).collect::<Vec<_>>());
    let merged: Vec<_> = changes.iter().filter(|change| change.subject.kind() == Kind::Guild).collect();
    assert_eq!(merged.len(), 1500);
    assert!(merged.iter().all(|change| change.revision > before));
    assert!(!merging.is_blocked(user(1)).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_of_sessions_blocks_urgent_writes() {
    let schema = Schema::new();
    let storage = DieselStorage::open_postgres(impatient(&schema)).await.unwrap();
    let holding = HeldLock::take(&schema, "LOCK TABLE sessions IN EXCLUSIVE MODE");
    let importing = tokio::spawn({
        let storage = storage.clone();
        async move {
            let mut source = Stream::of((1..=50).map(|number| Record::Session(session(number))));
            storage.sync(&Replace::default(), &mut source).await
        }
    });
    while schema.sessions("INSERT INTO sessions%") == 0 {
        assert!(!importing.is_finished(), "was not held up");
        tokio::task::yield_now().await;
    }
    let time = Timestamp::from_micros(1);
    let refused = failure(storage.write(Mutation::Report(a_heartbeat("one", time))).await);
    assert_eq!(refused.kind, StoreErrorKind::Unavailable);
    holding.release();
    assert_eq!(importing.await.unwrap().unwrap().tally.added, 50);
    storage.write(Mutation::Report(a_heartbeat("one", time))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_sync_streams_open_no_connection() {
    let schema = Schema::new();
    let storage = schema.open().await;
    let streams: Vec<_> = (0..110)
        .map(|number| {
            let storage = storage.clone();
            let mut source = Halting::new(guilds(1..=number % 3));
            let halted = Arc::clone(&source.halted);
            let sync = async move { storage.sync(&Replace::default(), &mut source).await };
            (tokio::spawn(sync), halted)
        })
        .collect();
    for (_, halted) in &streams {
        halted.notified().await;
    }
    let taken = schema.sessions("%");
    println!("| 110 idle streams | {taken} connections |");
    // Three to read, two to write, one to listen.
    assert!(taken <= 6, "{taken} connections");
    storage.put(Record::Blocked(user(1))).await.unwrap();
    assert!(storage.is_blocked(user(1)).await.unwrap());
    for (sync, _) in streams {
        assert!(!sync.is_finished());
        sync.abort();
    }
}

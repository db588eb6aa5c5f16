//! Syncs on a server with other writers.

use crate::{
    postgres::schema::Schema,
    sample::{Batches, Halting, feedback, guild, member, user},
    shared::Place,
};
use companion_domain::{
    change::{Key, Kind},
    port::{BlockList, Record, Records, Replace, StoreErrorKind, SyncError},
};
use companion_storage_diesel::{DieselStorage, PostgresOptions};
use diesel::{
    QueryableByName, RunQueryDsl, sql_query,
    sql_types::{BigInt, Nullable, Text},
};
use std::{sync::Arc, time::Duration};

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_sync_blocks_no_writer_on_any_node() {
    let schema = Schema::new();
    let (one, other) = (schema.open().await, schema.open().await);
    let mut source = Halting::new((1..=3000).map(|number| Record::Guild(guild(number))));
    let (halted, proceed) = (Arc::clone(&source.halted), Arc::clone(&source.proceed));
    let replace = Replace::default();
    let sync = one.sync(&replace, &mut source);
    let meanwhile = async {
        halted.notified().await;
        one.put(Record::Blocked(user(1))).await.unwrap();
        other.put(Record::Blocked(user(2))).await.unwrap();
        assert!(Records::find(&other, &Key::Guild(guild(1).id)).await.unwrap().is_none());
        proceed.notify_one();
    };
    let (synced, ()) = tokio::join!(sync, meanwhile);
    assert_eq!(synced.unwrap().tally.added, 3000);
    assert!(Records::find(&other, &Key::Guild(guild(3000).id)).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_sync_changes_nothing_and_closes_its_connection() {
    let schema = Schema::new();
    let storage = schema.open().await;
    for _ in 0..3 {
        let mut source = Halting::new((1..=2500).map(|number| Record::Guild(guild(number))));
        let halted = Arc::clone(&source.halted);
        let replace = Replace::default();
        tokio::select! {
            _ = storage.sync(&replace, &mut source) => panic!("ended"),
            () = halted.notified() => {}
        }
    }
    while schema.sessions("%staged%") > 0 {
        tokio::task::yield_now().await;
    }
    assert!(Records::find(&storage, &Key::Guild(guild(1).id)).await.unwrap().is_none());
    let mut source = Batches::of(vec![Record::Guild(guild(9999))]);
    let tally = storage.sync(&Replace::default(), &mut source).await.unwrap().tally;
    assert_eq!((tally.added, tally.changed, tally.removed), (1, 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_syncs_of_several_nodes_do_not_interfere() {
    let schema = Schema::new();
    let (one, other) = (schema.open().await, schema.open().await);
    let of = |first: u64| -> Vec<Record> {
        let guilds = (first..first + 1500).map(|number| Record::Guild(guild(number)));
        let members = (first..first + 1500).map(|number| Record::Member(member(number, 5)));
        guilds.chain(members).collect()
    };
    let replace = Replace::default();
    let (mut low, mut high, mut again) = (Batches::of(of(1)), Batches::of(of(100_000)), Batches::of(of(1)));
    let (low, high, again) = tokio::join!(
        one.sync(&replace, &mut low),
        other.sync(&replace, &mut high),
        other.sync(&replace, &mut again)
    );
    let (low, high, again) = (low.unwrap().tally, high.unwrap().tally, again.unwrap().tally);
    assert_eq!(high.added, 3000);
    // Two syncs carried the same records, so the second one changed nothing.
    assert_eq!(low.added + again.added, 3000);
    assert_eq!(low.changed + again.changed, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_sync_streams_open_no_connection() {
    let schema = Schema::new();
    let storage = schema.open().await;
    let streams: Vec<_> = (0..110)
        .map(|number| {
            let storage = storage.clone();
            let mut source = Halting::new((0..number % 3).map(|number| Record::Guild(guild(number + 1))));
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

#[tokio::test(flavor = "multi_thread")]
async fn rejects_syncs_beyond_the_limit_after_a_wait() {
    let schema = Schema::new();
    let options = PostgresOptions { max_sync_wait: Duration::from_millis(100), ..schema.options() };
    let storage = DieselStorage::open_postgres(options).await.unwrap();
    let large = || Halting::new((1..=2500).map(|number| Record::Guild(guild(number))));
    let mut under_way = Vec::new();
    for _ in 0..4 {
        let (storage, mut source) = (storage.clone(), large());
        let (halted, proceed) = (Arc::clone(&source.halted), Arc::clone(&source.proceed));
        let sync = tokio::spawn(async move { storage.sync(&Replace::default(), &mut source).await });
        halted.notified().await;
        under_way.push((sync, proceed));
    }
    let refused = storage.sync(&Replace::default(), &mut large()).await.unwrap_err();
    assert!(
        matches!(&refused, SyncError::Store(error) if error.kind == StoreErrorKind::Unavailable),
        "{refused:?}"
    );
    // A finished sync makes room for the next.
    let (sync, proceed) = under_way.remove(0);
    proceed.notify_one();
    assert_eq!(sync.await.unwrap().unwrap().tally.added, 2500);
    let mut source = Batches::of(vec![Record::Guild(guild(9999))]);
    assert_eq!(storage.sync(&Replace::default(), &mut source).await.unwrap().tally.added, 1);
}

#[derive(QueryableByName, Debug)]
struct Slot {
    #[diesel(sql_type = Text)]
    id: String,
    #[diesel(sql_type = BigInt)]
    rating: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    slot: Option<i64>,
}

/// Returns the number of entries, and checks that exactly the positive ones have slots without gaps.
fn stored(schema: &Schema) -> usize {
    let rows: Vec<Slot> = sql_query("SELECT id, rating, slot FROM feedback ORDER BY slot, id")
        .load(&mut schema.connection())
        .unwrap();
    let slots: Vec<_> = rows.iter().filter_map(|row| row.slot).collect();
    let expected: Vec<_> = (0..i64::try_from(slots.len()).unwrap()).collect();
    assert_eq!(slots, expected);
    for row in &rows {
        assert_eq!(row.slot.is_some(), row.rating >= 4, "{}: {row:?}", row.id);
    }
    rows.len()
}

#[tokio::test]
async fn feedback_slots_stay_gap_free_through_writes_and_syncs() {
    let schema = Schema::new();
    let storage = schema.open().await;
    let entry =
        |number: u64, rating: u64| feedback(&format!("f{number}"), i64::try_from(1 + rating % 5).unwrap());
    for round in 0..12_u64 {
        let records = (0..20).map(|number| Record::Feedback(entry(number * 7 % 30, number + round * round)));
        let kinds = (round % 3 == 0).then_some(Kind::Feedback).into_iter().collect();
        let mut source = Batches::of(records.collect());
        storage.sync(&Replace { kinds, shard: None }, &mut source).await.unwrap();
        storage.put(Record::Feedback(entry(round + 40, round))).await.unwrap();
        Records::remove(&storage, Key::Feedback(format!("f{}", round * 3 % 30).parse().unwrap()))
            .await
            .unwrap();
        assert!(stored(&schema) > 0);
    }
}

//! Syncs: what they leave behind, and gap-free feedback slots.

use crate::{
    sample::{Batches, Halting, feedback, guild, member, user},
    shared::Place,
    sqlite::{folder::Folder, gathering::Lock},
};
use companion_domain::{
    change::{Key, Kind},
    model::Guild,
    port::{FeedbackStore, Record, Records, Replace, StoreErrorKind, SyncError},
};
use companion_storage_diesel::{DieselStorage, SqliteOptions};
use companion_testkit::entropy::SeededEntropy;
use diesel::{
    Connection, QueryableByName, RunQueryDsl, SqliteConnection, sql_query,
    sql_types::{BigInt, Nullable, Text},
};
use std::{fs, num::NonZeroUsize, sync::Arc, time::Duration};

#[derive(QueryableByName, Debug)]
struct Slot {
    #[diesel(sql_type = Text)]
    id: String,
    #[diesel(sql_type = BigInt)]
    rating: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    slot: Option<i64>,
}

/// Returns the stored entries, and checks that exactly the positive ones have slots without gaps.
fn stored(folder: &Folder) -> Vec<String> {
    let mut connection = SqliteConnection::establish(folder.file().to_str().unwrap()).unwrap();
    let rows: Vec<Slot> =
        sql_query("SELECT id, rating, slot FROM feedback ORDER BY slot, id").load(&mut connection).unwrap();
    let slots: Vec<_> = rows.iter().filter_map(|row| row.slot).collect();
    let expected: Vec<_> = (0..i64::try_from(slots.len()).unwrap()).collect();
    assert_eq!(slots, expected);
    for row in &rows {
        assert_eq!(row.slot.is_some(), row.rating >= 4, "{row:?}");
    }
    rows.into_iter().map(|row| row.id).collect()
}

#[tokio::test]
async fn slots_stay_gap_free_through_random_writes_and_syncs() {
    let folder = Folder::new();
    let storage = folder.open().await;
    let chance = SeededEntropy::new(1);
    let entry = |number: u64| {
        let rating = i64::try_from(1 + chance.below(5)).unwrap();
        feedback(&format!("f{number}"), rating)
    };
    for _ in 0..60 {
        match chance.below(4) {
            0 => {
                storage.put(Record::Feedback(entry(chance.below(40)))).await.unwrap();
            }
            1 => {
                let id = format!("f{}", chance.below(40)).parse().unwrap();
                Records::remove(&storage, Key::Feedback(id)).await.unwrap();
            }
            choice => {
                let records = (0..chance.below(30)).map(|_| Record::Feedback(entry(chance.below(40))));
                let replace = Replace {
                    kinds: (choice == 2).then_some(Kind::Feedback).into_iter().collect(),
                    shard: None,
                };
                let mut source = Batches::of(records.collect());
                storage.sync(&replace, &mut source).await.unwrap();
            }
        }
        let stored = stored(&folder);
        let picked = storage.pick_positive(5, chance.seed()).await.unwrap();
        assert!(picked.iter().all(|picked| picked.rating.is_positive()));
        assert!(picked.len() == 5 || picked.len() < stored.len() + 1);
    }
}

#[tokio::test]
async fn cancelled_syncs_change_nothing_and_block_no_later_sync() {
    let folder = Folder::new();
    let storage = folder.open().await;
    for _ in 0..3 {
        let mut source = Halting::new((1..=2500).map(|number| Record::Guild(guild(number))));
        let halted = Arc::clone(&source.halted);
        let replace = Replace::default();
        tokio::select! {
            _ = storage.sync(&replace, &mut source) => panic!("ended"),
            () = halted.notified() => {}
        }
    }
    let tally = storage
        .sync(&Replace::default(), &mut Batches::of(vec![Record::Guild(guild(9999))]))
        .await
        .unwrap()
        .tally;
    assert_eq!((tally.added, tally.changed, tally.removed), (1, 0, 0));
    assert!(Records::find(&storage, &Key::Guild(guild(1).id)).await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_sync_blocks_no_writer_but_holds_its_permit() {
    let folder = Folder::new();
    let options = SqliteOptions {
        syncs: NonZeroUsize::MIN,
        max_sync_wait: Duration::from_millis(50),
        ..folder.options()
    };
    let storage = DieselStorage::open(options).await.unwrap();
    let mut source = Halting::new((1..=2500).map(|number| Record::Guild(guild(number))));
    let (halted, proceed) = (Arc::clone(&source.halted), Arc::clone(&source.proceed));
    let replace = Replace::default();
    let sync = storage.sync(&replace, &mut source);
    let meanwhile = async {
        halted.notified().await;
        storage.put(Record::Blocked(user(1))).await.unwrap();
        let mut next = Batches::of(vec![Record::Guild(guild(9999))]);
        let refused = storage.sync(&replace, &mut next).await.unwrap_err();
        assert!(
            matches!(&refused, SyncError::Store(error) if error.kind == StoreErrorKind::Unavailable),
            "{refused:?}"
        );
        proceed.notify_one();
    };
    let (synced, ()) = tokio::join!(sync, meanwhile);
    assert_eq!(synced.unwrap().tally.added, 2500);
    let mut next = Batches::of(vec![Record::Guild(guild(9999))]);
    assert_eq!(storage.sync(&replace, &mut next).await.unwrap().tally.added, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_syncs_do_not_interfere() {
    let folder = Folder::new();
    let storage = folder.open().await;
    let of = |first: u64| -> Vec<Record> {
        let guilds = (first..first + 2500).map(|number| Record::Guild(guild(number)));
        let members = (first..first + 2500).map(|number| Record::Member(member(number, 5)));
        guilds.chain(members).collect()
    };
    let (mut low, mut high) = (Batches::of(of(1)), Batches::of(of(1_000_000)));
    let replace = Replace::default();
    let (one, other) = tokio::join!(storage.sync(&replace, &mut low), storage.sync(&replace, &mut high));
    assert_eq!((one.unwrap().tally.added, other.unwrap().tally.added), (5000, 5000));
}

#[tokio::test]
async fn a_sync_waits_for_the_write_lock_of_another_process() {
    let folder = Folder::new();
    let storage = folder.open().await;
    let lock = Lock::take(&folder);
    let mut source = Batches::of((1..=2500).map(|number| Record::Guild(guild(number))).collect());
    let replace = Replace::default();
    let sync = storage.sync(&replace, &mut source);
    let release = async {
        tokio::task::yield_now().await;
        lock.release();
    };
    let (synced, ()) = tokio::join!(sync, release);
    assert_eq!(synced.unwrap().tally.added, 2500);
}

#[tokio::test]
async fn scattered_updates_log_little_more_than_their_rows() {
    const ROWS: u64 = 100;
    let folder = Folder::new();
    let storage = folder.open().await;
    let of = |title: &str| -> Vec<Record> {
        let named = |number: u64| {
            let name = if number.is_multiple_of(240) { title } else { "Guild" };
            Record::Guild(Guild { name: name.parse().unwrap(), ..guild(number) })
        };
        (1..=240 * ROWS).map(named).collect()
    };
    storage.sync(&Replace::default(), &mut Batches::of(of("Old"))).await.unwrap();
    let mut connection = SqliteConnection::establish(folder.file().to_str().unwrap()).unwrap();
    let log = folder.path().join("companion.db-wal");
    // A checkpoint of the sync may still be running.
    while fs::metadata(&log).unwrap().len() > 0 {
        sql_query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).unwrap();
        tokio::task::yield_now().await;
    }
    let tally = storage.sync(&Replace::default(), &mut Batches::of(of("New"))).await.unwrap().tally;
    assert_eq!(tally.changed, ROWS);
    let logged = fs::metadata(&log).unwrap().len();
    assert!(logged < ROWS * 2000, "{logged} bytes");
}

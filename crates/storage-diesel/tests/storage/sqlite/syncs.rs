//! Syncs: their limit, their wait for the write lock, and what they log.

use crate::{
    sample::{Halting, Stream, guild, guilds},
    shared::Place,
    sqlite::{folder::Folder, gathering::Lock},
};
use companion_domain::{
    model::Guild,
    port::{Record, Records, Replace, StoreErrorKind, SyncError},
};
use companion_storage_diesel::DieselStorage;
use diesel::{RunQueryDsl, sql_query};
use std::{fs, num::NonZeroUsize, sync::Arc, time::Duration};

#[tokio::test(flavor = "multi_thread")]
async fn rejects_a_sync_beyond_the_limit_after_a_wait() {
    let folder = Folder::new();
    let options = folder.limited(|limits| {
        (limits.syncs, limits.max_sync_wait) = (NonZeroUsize::MIN, Duration::from_millis(50));
    });
    let storage = DieselStorage::open(options).await.unwrap();
    let mut source = Halting::new(guilds(1..=1500));
    let (halted, proceed) = (Arc::clone(&source.halted), Arc::clone(&source.proceed));
    let replace = Replace::default();
    let sync = storage.sync(&replace, &mut source);
    let meanwhile = async {
        halted.notified().await;
        let mut next = Stream::of(vec![Record::Guild(guild(9999))]);
        let refused = storage.sync(&replace, &mut next).await.unwrap_err();
        assert!(
            matches!(&refused, SyncError::Store(error) if error.kind == StoreErrorKind::Unavailable),
            "{refused:?}"
        );
        proceed.notify_one();
    };
    let (synced, ()) = tokio::join!(sync, meanwhile);
    assert_eq!(synced.unwrap().tally.added, 1500);
    let mut next = Stream::of(vec![Record::Guild(guild(9999))]);
    assert_eq!(storage.sync(&replace, &mut next).await.unwrap().tally.added, 1);
}

#[tokio::test]
async fn a_sync_waits_for_the_write_lock_of_another_process() {
    let folder = Folder::new();
    let storage = folder.open().await;
    let lock = Lock::take(&folder);
    let mut source = Stream::of(guilds(1..=1500));
    let replace = Replace::default();
    let sync = storage.sync(&replace, &mut source);
    let release = async {
        tokio::task::yield_now().await;
        lock.release();
    };
    let (synced, ()) = tokio::join!(sync, release);
    assert_eq!(synced.unwrap().tally.added, 1500);
}

#[tokio::test]
async fn scattered_updates_log_little_more_than_their_rows() {
    const ROWS: u64 = 100;
    /// Far enough apart that no two of the rows share a page.
    const DISTANCE: u64 = 40;
    let folder = Folder::new();
    let storage = folder.open().await;
    let of = |title: &str| -> Vec<Record> {
        let named = |number: u64| {
            let name = if number.is_multiple_of(DISTANCE) { title } else { "Guild" };
            Record::Guild(Guild { name: name.parse().unwrap(), ..guild(number) })
        };
        (1..=DISTANCE * ROWS).map(named).collect()
    };
    storage.sync(&Replace::default(), &mut Stream::of(of("Old"))).await.unwrap();
    let mut connection = folder.connection();
    let log = folder.path().join("companion.db-wal");
    // A checkpoint of the sync may still be running.
    while fs::metadata(&log).unwrap().len() > 0 {
        sql_query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).unwrap();
        tokio::task::yield_now().await;
    }
    let tally = storage.sync(&Replace::default(), &mut Stream::of(of("New"))).await.unwrap().tally;
    assert_eq!(tally.changed, ROWS);
    let logged = fs::metadata(&log).unwrap().len();
    assert!(logged < ROWS * 2000, "{logged} bytes");
}

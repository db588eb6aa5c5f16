//! Reads when every connection is busy.

use crate::{DieselStorage, SqliteOptions};
use companion_domain::port::{SessionStore, StoreErrorKind};
use companion_testkit::world::user_id;
use std::{
    num::NonZeroU32,
    sync::mpsc::channel,
    time::{Duration, Instant},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_finds_every_connection_busy_is_refused_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("companion.db");
    let options = SqliteOptions { readers: NonZeroU32::MIN, create: true, ..SqliteOptions::new(path) };
    let storage = DieselStorage::open(options).await.unwrap();
    let ((begun, has_begun), (release, held)) = (channel(), channel::<()>());
    let occupied = tokio::spawn({
        let storage = storage.clone();
        async move {
            let wait = move |_: &mut _| {
                begun.send(()).unwrap();
                // Closed means that nobody holds it up any more.
                let _ = held.recv();
                Ok(())
            };
            storage.read(wait).await
        }
    });
    has_begun.recv().unwrap();
    let asked = Instant::now();
    let refused = storage.of_user(user_id(1)).await;
    let waited = asked.elapsed();
    assert_eq!(refused.unwrap_err().kind, StoreErrorKind::Unavailable);
    assert!(waited >= Duration::from_millis(200) && waited < Duration::from_secs(4), "{waited:?}");
    drop(release);
    occupied.await.unwrap().unwrap();
    SessionStore::of_user(&storage, user_id(1)).await.unwrap();
    storage.close().await;
}

//! Notifications between nodes.

use crate::{
    postgres::schema::Schema,
    sample::{Stream, guilds, user},
    shared::Place,
};
use companion_domain::{
    change::Revision,
    port::{ChangeFeed, Record, Records, Replace},
};
use companion_storage_diesel::DieselStorage;
use std::time::{Duration, Instant};

/// Timeout after which the test fails.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Waits for changes after a revision, and returns how long that took.
async fn heard(storage: &DieselStorage, revision: Revision) -> Duration {
    let begun = Instant::now();
    tokio::time::timeout(TIMEOUT, storage.wait_for_change(revision)).await.unwrap();
    begun.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_or_sync_wakes_other_nodes_within_a_second() {
    let schema = Schema::new();
    let (one, other) = (schema.open().await, schema.open().await);
    for number in 1..=3 {
        let before = other.latest().await.unwrap();
        let waiting = tokio::spawn({
            let other = other.clone();
            async move { heard(&other, before).await }
        });
        one.put(Record::Blocked(user(number))).await.unwrap();
        let took = waiting.await.unwrap();
        assert!(took < Duration::from_secs(1), "{took:?}");
        assert_ne!(other.latest().await.unwrap(), before);
    }
    one.sync(&Replace::default(), &mut Stream::of(guilds(1..=50))).await.unwrap();
    for node in [&one, &other] {
        heard(node, Revision(52)).await;
    }
    assert_eq!(other.latest().await.unwrap(), Revision(53));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reconnected_listener_learns_of_missed_changes() {
    let schema = Schema::new();
    let (one, other) = (schema.open().await, schema.open().await);
    one.put(Record::Blocked(user(1))).await.unwrap();
    heard(&other, Revision(0)).await;
    for number in 2..=3 {
        schema.cut_off("SELECT revision AS latest%");
        one.put(Record::Blocked(user(number))).await.unwrap();
        heard(&other, Revision(number - 1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_in_another_schema_wake_no_waiter() {
    let (schema, neighbour) = (Schema::new(), Schema::new());
    let (storage, elsewhere) = (schema.open().await, neighbour.open().await);
    storage.put(Record::Blocked(user(1))).await.unwrap();
    for number in 1..=20 {
        elsewhere.put(Record::Blocked(user(number))).await.unwrap();
    }
    heard(&elsewhere, Revision(19)).await;
    let mut news = std::pin::pin!(storage.wait_for_change(Revision(1)));
    // The notifications of the other schema have been sent by now; allow time to receive them.
    let early = tokio::time::timeout(Duration::from_millis(200), &mut news).await;
    assert!(early.is_err(), "woke for a neighbour");
    storage.put(Record::Blocked(user(2))).await.unwrap();
    tokio::time::timeout(TIMEOUT, news).await.unwrap();
}

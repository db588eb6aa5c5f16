//! Puts, finds and removes single records of every kind.

use super::{
    common::put_all,
    kinds::{KEYED, KeyedKind},
};
use crate::conformance::{CALLERS, Fresh, Stores, sample::BEYOND_SIGNED};
use companion_domain::{
    change::{Key, Tally},
    port::Record,
};
use std::sync::Arc;

async fn find(stores: &Stores, key: &Key) -> Option<Record> {
    stores.records.find(key).await.unwrap()
}

async fn put(stores: &Stores, record: &Record) -> Tally {
    stores.records.put(record.clone()).await.unwrap()
}

async fn remove(stores: &Stores, key: &Key) -> Tally {
    stores.records.remove(key.clone()).await.unwrap()
}

/// Runs the check for each kind, with what the records of these numbers need in the store.
async fn each_kind(
    fresh: &Fresh<Stores>,
    numbers: impl IntoIterator<Item = u64> + Clone,
    check: impl AsyncFn(&KeyedKind),
) {
    for kind in &KEYED {
        kind.prepare(&fresh.one, numbers.clone()).await;
        check(kind).await;
    }
}

pub(super) async fn a_write_replaces_or_removes_one_record_and_returns_its_tally(fresh: &Fresh<Stores>) {
    each_kind(fresh, [1, 2], async |kind| {
        let (key, other) = (kind.key(1), kind.record(2));
        let finds = async |expected: Option<&Record>| {
            fresh
                .through_both(async |stores| {
                    assert_eq!(find(stores, &key).await.as_ref(), expected);
                    assert_eq!(find(stores, &other.key()).await.as_ref(), Some(&other), "the other stays");
                })
                .await;
        };
        put(&fresh.one, &other).await;
        finds(kind.absent(1).as_ref()).await;
        assert_eq!(remove(&fresh.one, &key).await, Tally::NOTHING, "{}", kind.name());
        let mut expected = Tally::ADDED;
        for record in kind.variants(1) {
            assert_eq!(put(&fresh.one, &record).await, expected, "{record:?}");
            assert_eq!(put(&fresh.one, &record).await, Tally::NOTHING, "the same again: {record:?}");
            finds(Some(&record)).await;
            expected = Tally::CHANGED;
        }
        for expected in [Tally::REMOVED, Tally::NOTHING] {
            assert_eq!(remove(&fresh.one, &key).await, expected, "{}", kind.name());
            finds(kind.absent(1).as_ref()).await;
        }
        assert_eq!(put(&fresh.one, &kind.record(1)).await, Tally::ADDED, "{}", kind.name());
    })
    .await;
}

pub(super) async fn keys_are_separate_and_text_is_stored_exactly(fresh: &Fresh<Stores>) {
    let numbers = [1, 2, BEYOND_SIGNED - 1, BEYOND_SIGNED, BEYOND_SIGNED + 1, u64::MAX];
    each_kind(fresh, numbers, async |kind| {
        let numbered = numbers.into_iter().enumerate().map(|(place, number)| {
            let variants = kind.variants(number);
            variants.get(place % variants.len()).cloned().unwrap()
        });
        for all in [numbered.collect(), (kind.awkward)()] {
            for record in &all {
                assert_eq!(put(&fresh.one, record).await, Tally::ADDED, "{record:?}");
                assert_eq!(put(&fresh.one, record).await, Tally::NOTHING, "the same again: {record:?}");
            }
            fresh
                .through_both(async |stores| {
                    for record in &all {
                        assert_eq!(find(stores, &record.key()).await.as_ref(), Some(record));
                    }
                })
                .await;
            for (place, record) in all.iter().enumerate() {
                assert_eq!(remove(&fresh.one, &record.key()).await, Tally::REMOVED, "{record:?}");
                for later in all.iter().skip(place + 1) {
                    assert_eq!(find(&fresh.one, &later.key()).await.as_ref(), Some(later));
                }
            }
        }
    })
    .await;
}

/// Four callers for each of eight records.
pub(super) async fn concurrent_callers_add_and_remove_each_record_once(fresh: &Fresh<Stores>) {
    const EACH: usize = CALLERS as usize / 4;
    each_kind(fresh, 1..=EACH as u64, async |kind| {
        for once in [Tally::ADDED, Tally::REMOVED] {
            let write = |caller, stores: Arc<Stores>| {
                let record = kind.record(caller % EACH as u64 + 1);
                async move {
                    if once == Tally::ADDED {
                        put(&stores, &record).await
                    } else {
                        remove(&stores, &record.key()).await
                    }
                }
            };
            let tallies = fresh.concurrently(write).await;
            let count = |tally| tallies.iter().filter(|one| **one == tally).count();
            assert_eq!((count(once), count(Tally::NOTHING)), (EACH, 3 * EACH), "{}", kind.name());
            for number in 1..=EACH as u64 {
                let expected =
                    if once == Tally::ADDED { Some(kind.record(number)) } else { kind.absent(number) };
                assert_eq!(find(&fresh.one, &kind.key(number)).await, expected);
            }
        }
    })
    .await;
}

pub(super) async fn an_unreadable_record_affects_no_other(fresh: &Fresh<Stores>) {
    for kind in &KEYED {
        // A block has nothing but its key.
        if matches!(kind.key(1), Key::Blocked(_)) {
            continue;
        }
        kind.prepare(&fresh.one, [1, 2, 3]).await;
        put_all(&fresh.one, [1, 2, 3].map(|number| kind.record(number)).to_vec()).await;
        if !fresh.damage([1, 3].map(|number| kind.key(number))).await {
            return;
        }
        let shown = async || {
            let find = async |stores: &Arc<Stores>| {
                let [one, two, three] = [1, 2, 3].map(|number| kind.key(number));
                [find(stores, &one).await, find(stores, &two).await, find(stores, &three).await]
            };
            fresh.shows(find).await
        };
        let [one, two] = [1, 2].map(|number| Some(kind.record(number)));
        assert_eq!(shown().await, [kind.absent(1), two.clone(), kind.absent(3)]);
        put(&fresh.one, &kind.record(1)).await;
        assert_eq!(remove(&fresh.one, &kind.key(3)).await, Tally::REMOVED, "{}", kind.name());
        assert_eq!(shown().await, [one, two, kind.absent(3)]);
    }
}

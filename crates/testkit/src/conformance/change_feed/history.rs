//! How changes are listed, for every kind of write.

use crate::conformance::{
    Fresh, Stores,
    concurrency::{CALLERS, all_of},
    sample::{LOTS, feedback, guild, guild_id, user_id},
};
use companion_domain::{
    change::{Change, Changes, Key, Revision, Subject},
    port::Record,
};
use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Returns the changes after a revision that the history still has.
pub(super) async fn since(stores: &Stores, revision: Revision) -> Vec<Change> {
    match stores.changes.since(revision).await.unwrap() {
        Changes::Listed(changes) => changes,
        gap @ Changes::Gap(_) => {
            assert_eq!(gap, Changes::Listed(vec![]), "the history is lost too soon");
            vec![]
        }
    }
}

/// Returns the subjects of a write, as seen through the other handle.
pub(in crate::conformance) async fn subjects_of<T>(
    fresh: &Fresh<Stores>,
    write: impl AsyncFnOnce(&Stores) -> T,
) -> Vec<Subject> {
    let before = fresh.other.changes.latest().await.unwrap();
    write(&fresh.one).await;
    let changes = since(&fresh.other, before).await;
    assert!(changes.iter().all(|change| change.revision > before));
    let latest = fresh.other.changes.latest().await.unwrap();
    assert_eq!(changes.last().map_or(before, |change| change.revision), latest);
    changes.into_iter().map(|change| change.subject).collect()
}

/// Makes writes of different kinds, and returns their subjects in order.
async fn write_some(stores: &Stores) -> Vec<Subject> {
    let mut expected = Vec::new();
    for number in 1..=10 {
        let (id, entry) = (guild_id(number), feedback(&format!("f{number}"), 5, user_id(1)));
        stores.records.put(Record::Guild(guild(id))).await.unwrap();
        stores.records.put(Record::Feedback(entry.clone())).await.unwrap();
        stores.records.put(Record::Blocked(user_id(number))).await.unwrap();
        expected.extend([Subject::Guild(id), Subject::Feedback(entry.id), Subject::Blocked(user_id(number))]);
    }
    stores.records.remove(Key::Guild(guild_id(1))).await.unwrap();
    expected.push(Subject::Guild(guild_id(1)));
    expected
}

pub(super) async fn changes_are_listed_once_in_order_from_any_revision(fresh: &Fresh<Stores>) {
    assert_eq!(fresh.one.changes.latest().await.unwrap(), Revision::default());
    assert_eq!(since(&fresh.one, Revision::default()).await, []);
    let expected = write_some(&fresh.one).await;
    let all = since(&fresh.other, Revision::default()).await;
    assert!(all.is_sorted_by(|one, two| one.revision < two.revision));
    assert_eq!(all.last().map(|change| change.revision), Some(fresh.one.changes.latest().await.unwrap()));
    assert_eq!(all.iter().map(|change| change.subject.clone()).collect::<Vec<_>>(), expected);
    for (index, change) in all.iter().enumerate() {
        let after: Vec<_> = all.iter().skip(index + 1).cloned().collect();
        assert_eq!(since(&fresh.one, change.revision).await, after, "after {change:?}");
    }
}

pub(super) async fn an_unknown_revision_is_a_gap(fresh: &Fresh<Stores>) {
    for _ in 0..2 {
        let latest = fresh.one.changes.latest().await.unwrap();
        for ahead in [Revision(latest.0 + 1), Revision(latest.0 + 100_000), Revision(u64::MAX)] {
            let changes = fresh.one.changes.since(ahead).await.unwrap();
            assert_eq!(changes, Changes::Gap(latest), "since {ahead:?}");
        }
        write_some(&fresh.one).await;
    }
}

/// Revisions are assigned before writes commit, and writes commit in another order. A reader in between must not skip a
/// revision that commits later.
pub(super) async fn a_follower_of_many_writers_misses_no_change(fresh: &Fresh<Stores>) {
    const EACH: u64 = 10;
    let done = Arc::new(AtomicBool::new(false));
    let (stores, stop) = (Arc::clone(&fresh.other), Arc::clone(&done));
    let subscriber = tokio::spawn(async move {
        let mut read = Vec::new();
        let mut position = Revision::default();
        loop {
            // Loaded before the last read, so that no later change is missed.
            let last = stop.load(Ordering::SeqCst);
            for change in since(&stores, position).await {
                assert!(change.revision > position, "{change:?} comes after {position:?}");
                position = change.revision;
                read.push(change.subject);
            }
            if last {
                return read;
            }
            tokio::task::yield_now().await;
        }
    });
    fresh
        .concurrently(|number, stores| async move {
            for index in 0..EACH {
                stores.records.put(Record::Blocked(user_id(number * EACH + index + 1))).await.unwrap();
            }
        })
        .await;
    done.store(true, Ordering::SeqCst);
    let read = subscriber.await.unwrap();
    let expected: HashSet<_> = (1..=CALLERS * EACH).map(|user| Subject::Blocked(user_id(user))).collect();
    assert_eq!(read.len(), expected.len(), "each once");
    assert_eq!(read.into_iter().collect::<HashSet<_>>(), expected);
}

pub(super) async fn lists_very_many_changes(fresh: &Fresh<Stores>) {
    let blocked = all_of((1..=LOTS).map(|user| fresh.one.records.put(Record::Blocked(user_id(user))))).await;
    assert!(blocked.into_iter().all(|tally| tally.is_ok()));
    let changes = since(&fresh.other, Revision::default()).await;
    assert!(changes.is_sorted_by(|one, two| one.revision < two.revision));
    let subjects: HashSet<_> = changes.iter().map(|change| change.subject.clone()).collect();
    assert_eq!((changes.len() as u64, subjects.len() as u64), (LOTS, LOTS));
}

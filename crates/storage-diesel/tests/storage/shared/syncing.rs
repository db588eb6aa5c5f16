//! Syncs beside other writers: what they block, what they leave behind, and gap-free feedback slots.

use super::Place;
use crate::sample::{Halting, Stream, feedback, guild, guilds, user};
use companion_domain::{
    change::{Key, Kind, Tally},
    port::{FeedbackStore, Record, Records, Replace},
};
use companion_testkit::entropy::SeededEntropy;
use std::sync::Arc;

pub(crate) async fn a_stalled_sync_blocks_no_writer_on_any_node<P: Place>() {
    let place = P::new();
    let (one, other) = (place.open().await, place.open().await);
    let mut source = Halting::new(guilds(1..=1500));
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
    assert_eq!(synced.unwrap().tally.added, 1500);
    assert!(Records::find(&other, &Key::Guild(guild(1500).id)).await.unwrap().is_some());
}

pub(crate) async fn a_cancelled_sync_changes_nothing_and_closes_its_connection<P: Place>() {
    let place = P::new();
    let storage = place.open().await;
    let mut source = Halting::new(guilds(1..=1500));
    let halted = Arc::clone(&source.halted);
    let replace = Replace::default();
    tokio::select! {
        _ = storage.sync(&replace, &mut source) => panic!("ended"),
        () = halted.notified() => {}
    }
    while place.is_staging() {
        tokio::task::yield_now().await;
    }
    assert!(Records::find(&storage, &Key::Guild(guild(1).id)).await.unwrap().is_none());
    let mut source = Stream::of(vec![Record::Guild(guild(9999))]);
    assert_eq!(storage.sync(&replace, &mut source).await.unwrap().tally, Tally::ADDED);
}

/// Returns the number of entries, and checks that exactly the positive ones have slots without gaps.
fn entries(place: &impl Place) -> usize {
    let rows = place.slots();
    let slots: Vec<_> = rows.iter().filter_map(|(_, slot)| *slot).collect();
    let expected: Vec<_> = (0..i64::try_from(slots.len()).unwrap()).collect();
    assert_eq!(slots, expected);
    assert!(rows.iter().all(|(rating, slot)| slot.is_some() == (*rating >= 4)), "{rows:?}");
    rows.len()
}

pub(crate) async fn slots_stay_gap_free_through_random_writes_and_syncs<P: Place>() {
    let place = P::new();
    let storage = place.open().await;
    let chance = SeededEntropy::new(1);
    let id = || format!("f{}", chance.below(40));
    let entry = || Record::Feedback(feedback(&id(), i64::try_from(1 + chance.below(5)).unwrap()));
    for _ in 0..40 {
        match chance.below(4) {
            0 => drop(storage.put(entry()).await.unwrap()),
            1 => drop(Records::remove(&storage, Key::Feedback(id().parse().unwrap())).await.unwrap()),
            choice => {
                let records = (0..chance.below(30)).map(|_| entry());
                let kinds = (choice == 2).then_some(Kind::Feedback).into_iter().collect();
                let replace = Replace { kinds, shard: None };
                storage.sync(&replace, &mut Stream::of(records)).await.unwrap();
            }
        }
        let entries = entries(&place);
        let picked = storage.pick_positive(5, chance.seed()).await.unwrap();
        assert!(picked.iter().all(|picked| picked.rating.is_positive()));
        assert!(picked.len() == 5 || picked.len() <= entries);
    }
}

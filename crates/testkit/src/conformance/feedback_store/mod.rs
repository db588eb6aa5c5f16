//! The contract of a [`FeedbackStore`](companion_domain::port::FeedbackStore).

mod pages;
mod pick;

use super::{
    Damage, Fresh, Stores,
    sample::{feedback, feedback_id, user_id},
};
use crate::entropy::SeededEntropy;
use companion_domain::{
    change::{Key, Tally},
    model::{Feedback, FeedbackId},
    port::Record,
};

suite! {
    /// Generates one test per behaviour of a `FeedbackStore`. It needs `Records` to write with.
    feedback_store_conformance($): feedback_store, Stores;
    an_unreadable_entry_affects_no_other,
    @pages {
        pages_contain_every_positive_entry_once_by_id,
        a_page_starts_after_an_id_that_need_not_exist,
        changes_between_pages_affect_no_other_entry,
    }
    @pick {
        picks_only_four_and_five_stars,
        a_pick_has_the_requested_number_of_distinct_entries_by_its_seed,
        every_choice_and_order_is_equally_likely,
        a_rating_change_moves_an_entry_in_and_out_of_picks,
        picks_are_right_during_concurrent_writes,
        picks_from_very_many_entries,
    }
}

async fn say(stores: &Stores, entry: &Feedback) -> Tally {
    stores.records.put(Record::Feedback(entry.clone())).await.unwrap()
}

async fn put(store: &Stores, id: &str, rating: i64) {
    say(store, &feedback(id, rating, user_id(1))).await;
}

async fn take_back(stores: &Stores, id: &FeedbackId) -> Tally {
    stores.records.remove(Key::Feedback(id.clone())).await.unwrap()
}

async fn an_unreadable_entry_affects_no_other(fresh: &Fresh<Stores>) {
    for id in ["one", "two", "three"] {
        put(&fresh.one, id, 5).await;
    }
    for (damaged, readable) in [("one", 2), ("three", 1)] {
        if !fresh.damage([Damage::Feedback(feedback_id(damaged))]).await {
            return;
        }
        fresh
            .through_both(async |store| {
                assert_eq!(store.feedback.find(&feedback_id(damaged)).await.unwrap(), None);
                assert!(store.feedback.find(&feedback_id("two")).await.unwrap().is_some());
                for seed in 0..20 {
                    let picked = pick::pick(store, 2, &SeededEntropy::new(seed)).await;
                    assert_eq!(picked.len(), readable, "as many as can be read");
                }
            })
            .await;
    }
}

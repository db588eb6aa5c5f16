//! The contract of a [`FeedbackStore`](companion_domain::port::FeedbackStore).

mod pages;
mod pick;

use super::{
    Damage, Fresh, Stores,
    concurrency::CancelledWrite,
    sample::{feedback, feedback_id, prose, user_id},
};
use crate::entropy::SeededEntropy;
use companion_domain::{
    change::{Key, Tally},
    model::{Feedback, FeedbackId},
    port::Record,
};
use std::sync::Arc;

suite! {
    /// Generates one test per behaviour of a `FeedbackStore`. It needs `Records` to write with.
    feedback_store_conformance($): feedback_store, Stores;
    a_cancelled_put_is_complete_or_absent,
    an_unreadable_entry_affects_no_other needs Damaging,
    @pages {
        pages_contain_every_positive_entry_once_by_id,
        a_page_starts_after_an_id_that_need_not_exist,
        changes_between_pages_affect_no_other_entry,
    }
    @pick {
        picks_none_without_positive_entries,
        picks_only_four_and_five_stars,
        a_pick_has_the_requested_number_of_distinct_entries,
        a_pick_returns_all_if_there_are_fewer,
        a_pick_depends_only_on_the_seed,
        every_choice_and_order_is_equally_likely,
        a_rating_change_moves_an_entry_in_and_out_of_picks,
        a_removed_entry_is_never_picked_again,
        picks_are_right_during_concurrent_writes,
        picks_from_very_many_entries,
    }
}

async fn say(stores: &Stores, entry: &Feedback) -> Tally {
    stores.records.put(Record::Feedback(entry.clone())).await.unwrap()
}

async fn take_back(stores: &Stores, id: &FeedbackId) -> Tally {
    stores.records.remove(Key::Feedback(id.clone())).await.unwrap()
}

async fn found(store: &Stores, id: &str) -> Option<Feedback> {
    store.feedback.find(&feedback_id(id)).await.unwrap().map(|found| (*found).clone())
}

async fn a_cancelled_put_is_complete_or_absent(fresh: &Fresh<Stores>) {
    let entry = |number: u64, stars, text| Feedback {
        text: prose(text),
        ..feedback(&format!("entry-{number}"), stars, user_id(1))
    };
    let cancelled = CancelledWrite {
        fresh,
        what: "a put",
        ready: async |store: &Arc<Stores>, number| say(store, &entry(number, 5, "good")).await,
        write: async |store: &Arc<Stores>, number| say(store, &entry(number, 1, "bad")).await,
        look: async |store: &Arc<Stores>, number| {
            let found = found(store, &format!("entry-{number}")).await;
            let picked =
                store.feedback.pick_positive(usize::MAX, SeededEntropy::new(1).seed()).await.unwrap();
            let picked = picked.iter().any(|one| one.id.as_str() == format!("entry-{number}"));
            (found.map(|found| (found.text, found.rating)), picked)
        },
        further: async |store: &Arc<Stores>| take_back(store, &feedback_id("further")).await,
    };
    cancelled.leaves_all_or_nothing().await;
}

async fn an_unreadable_entry_affects_no_other(fresh: &Fresh<Stores>) {
    let ids = ["one", "two", "three"];
    for id in ids {
        say(&fresh.one, &feedback(id, 5, user_id(1))).await;
    }
    for (damaged, readable) in [("one", 2), ("three", 1)] {
        if !fresh.damage(Damage::Feedback(feedback_id(damaged))).await {
            return;
        }
        fresh
            .through_both(async |store| {
                assert_eq!(found(store, damaged).await, None);
                assert!(found(store, "two").await.is_some());
                for seed in 0..20 {
                    let picked =
                        store.feedback.pick_positive(2, SeededEntropy::new(seed).seed()).await.unwrap();
                    assert_eq!(picked.len(), readable, "as many as can be read");
                }
            })
            .await;
    }
    say(&fresh.one, &feedback("one", 5, user_id(1))).await;
    take_back(&fresh.one, &feedback_id("three")).await;
    fresh
        .through_both(async |store| {
            let found = [found(store, "one").await, found(store, "three").await];
            assert_eq!(found, [Some(feedback("one", 5, user_id(1))), None]);
        })
        .await;
}

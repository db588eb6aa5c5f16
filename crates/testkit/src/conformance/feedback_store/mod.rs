//! What a [`FeedbackStore`] promises.

mod pages;
mod pick;

use self::{
    pages::{
        a_page_has_whole_entries_from_the_first_after_an_id_that_need_not_be_there,
        pages_have_every_positive_entry_once_by_id,
        what_comes_and_goes_between_pages_leaves_the_others_whole,
    },
    pick::{
        a_change_of_rating_moves_an_entry_in_and_out_of_the_pick, a_pick_depends_on_the_given_chance_alone,
        a_pick_gives_all_where_there_are_fewer, a_pick_has_as_many_distinct_entries_as_asked_for,
        a_pick_is_from_very_many_entries_and_has_as_many, a_removed_entry_is_never_picked_again,
        every_choice_and_every_order_is_equally_likely, nothing_is_picked_where_nothing_is_positive,
        only_four_and_five_stars_are_picked, what_is_picked_stays_right_whoever_writes_at_once,
    },
};
use super::{
    Damage, Fresh,
    given_up::GivenUp,
    sample::{AWKWARD, awkward_names, awkward_prose, feedback, feedback_id, name, prose, stars, user_id},
};
use crate::entropy::SeededEntropy;
use companion_domain::{
    change::Tally,
    model::{Feedback, Timestamp},
    port::FeedbackStore,
};
use std::sync::Arc;

suite! {
    /// Makes one test of each behaviour of a `FeedbackStore`.
    feedback_store_conformance($): feedback_store, dyn FeedbackStore;
    what_was_never_said_is_not_there,
    an_entry_is_found_as_it_was_put,
    ids_are_kept_apart_to_the_letter,
    a_put_replaces_everything_and_counts_what_it_did,
    removing_can_be_repeated_and_counts_once,
    of_callers_at_once_exactly_one_adds_an_entry,
    nothing_is_picked_where_nothing_is_positive,
    only_four_and_five_stars_are_picked,
    a_pick_has_as_many_distinct_entries_as_asked_for,
    a_pick_gives_all_where_there_are_fewer,
    a_pick_depends_on_the_given_chance_alone,
    every_choice_and_every_order_is_equally_likely,
    a_change_of_rating_moves_an_entry_in_and_out_of_the_pick,
    a_removed_entry_is_never_picked_again,
    what_is_picked_stays_right_whoever_writes_at_once,
    text_is_kept_to_the_character,
    each_entry_keeps_its_submitter_as_it_was_put,
    an_entry_is_removed_by_its_whole_id,
    a_pick_is_from_very_many_entries_and_has_as_many,
    a_put_that_is_given_up_is_made_whole_or_not_at_all,
    a_write_does_not_block_the_thread_that_polls_it needs Gating,
    an_entry_that_cannot_be_read_costs_no_other needs Damaging,
    pages_have_every_positive_entry_once_by_id,
    a_page_has_whole_entries_from_the_first_after_an_id_that_need_not_be_there,
    what_comes_and_goes_between_pages_leaves_the_others_whole,
}

async fn found(store: &dyn FeedbackStore, id: &str) -> Option<Feedback> {
    store.find(&feedback_id(id)).await.unwrap().map(|found| (*found).clone())
}

async fn what_was_never_said_is_not_there(fresh: &Fresh<Port>) {
    assert_eq!(found(&*fresh.one, "none").await, None);
    assert_eq!(fresh.one.remove(&feedback_id("none")).await.unwrap(), Tally::NOTHING);
}

async fn an_entry_is_found_as_it_was_put(fresh: &Fresh<Port>) {
    let plain = feedback("plain", 5, user_id(1));
    let wordless = Feedback { text: prose(""), rating: stars(1), ..feedback("wordless", 1, user_id(2)) };
    let mut awkward = feedback(&"-_aZ9".repeat(12), 4, user_id(u64::MAX));
    awkward.text = prose(&format!("{AWKWARD}\r\n\n{AWKWARD}"));
    awkward.submitter.name = name(AWKWARD);
    awkward.submitter.username = name(AWKWARD);
    awkward.submitted_at = Timestamp::from_seconds(Timestamp::MAX_SECONDS).unwrap();
    let mut long = feedback("long", 3, user_id(3));
    long.text = prose(&"🦀".repeat(4000));
    long.submitted_at = Timestamp::EPOCH;
    for entry in [&plain, &wordless, &awkward, &long] {
        fresh.one.put(entry).await.unwrap();
    }
    fresh.settle().await;
    for entry in [plain, wordless, awkward, long] {
        assert_eq!(found(&*fresh.other, entry.id.as_str()).await, Some(entry));
    }
}

async fn ids_are_kept_apart_to_the_letter(fresh: &Fresh<Port>) {
    let ids = ["a", "A", "a-", "a_", "aa", "0", "00"];
    for (number, id) in (1..).zip(ids) {
        assert_eq!(fresh.one.put(&feedback(id, 5, user_id(number))).await.unwrap(), Tally::ADDED, "{id}");
    }
    assert_eq!(fresh.one.remove(&feedback_id("a")).await.unwrap(), Tally::REMOVED);
    for (number, id) in (1..).zip(ids).skip(1) {
        assert_eq!(found(&*fresh.one, id).await, Some(feedback(id, 5, user_id(number))));
    }
}

async fn a_put_replaces_everything_and_counts_what_it_did(fresh: &Fresh<Port>) {
    let mut entry = feedback("one", 5, user_id(1));
    assert_eq!(fresh.one.put(&entry).await.unwrap(), Tally::ADDED);
    assert_eq!(fresh.one.put(&entry).await.unwrap(), Tally::NOTHING);
    let changes: [fn(&mut Feedback); 8] = [
        |entry| entry.text = prose("Other words"),
        |entry| entry.text = prose(""),
        |entry| entry.rating = stars(2),
        |entry| entry.submitted_at = Timestamp::from_seconds(1).unwrap(),
        |entry| entry.submitter.id = user_id(2),
        |entry| entry.submitter.username = name("renamed"),
        |entry| entry.submitter.name = name("Renamed"),
        |entry| entry.submitter.avatar = "https://pictures.example/new.png".parse().unwrap(),
    ];
    for (number, change) in changes.iter().enumerate() {
        change(&mut entry);
        assert_eq!(fresh.one.put(&entry).await.unwrap(), Tally::CHANGED, "change {number}");
        assert_eq!(fresh.one.put(&entry).await.unwrap(), Tally::NOTHING, "change {number} again");
        fresh
            .through_both(async |store| {
                assert_eq!(found(&**store, "one").await.as_ref(), Some(&entry), "change {number}");
            })
            .await;
    }
}

async fn removing_can_be_repeated_and_counts_once(fresh: &Fresh<Port>) {
    fresh.one.put(&feedback("one", 5, user_id(1))).await.unwrap();
    fresh.one.put(&feedback("two", 5, user_id(1))).await.unwrap();
    assert_eq!(fresh.one.remove(&feedback_id("one")).await.unwrap(), Tally::REMOVED);
    assert_eq!(fresh.one.remove(&feedback_id("one")).await.unwrap(), Tally::NOTHING);
    fresh.settle().await;
    assert_eq!(found(&*fresh.other, "one").await, None);
    assert!(found(&*fresh.other, "two").await.is_some(), "another entry of the same user stays");
    assert_eq!(fresh.one.put(&feedback("one", 5, user_id(1))).await.unwrap(), Tally::ADDED);
}

async fn of_callers_at_once_exactly_one_adds_an_entry(fresh: &Fresh<Port>) {
    let tallies = fresh
        .concurrently(|_, store| async move { store.put(&feedback("one", 5, user_id(1))).await.unwrap() })
        .await;
    assert_eq!(tallies.iter().filter(|tally| **tally == Tally::ADDED).count(), 1);
    assert_eq!(tallies.iter().filter(|tally| **tally == Tally::NOTHING).count(), tallies.len() - 1);
}

async fn text_is_kept_to_the_character(fresh: &Fresh<Port>) {
    let awkward = (0..).zip(awkward_prose()).map(|(number, text)| Feedback {
        text,
        submitted_at: Timestamp::from_micros(1_700_000_000_123_457 + number),
        ..feedback(&format!("text-{number}"), 5, user_id(1))
    });
    let named = (0..).zip(awkward_names()).map(|(number, awkward)| {
        let mut entry = feedback(&format!("name-{number}"), 4, user_id(number + 1));
        entry.submitter.username = awkward.clone();
        entry.submitter.name = awkward;
        entry
    });
    let all: Vec<_> = awkward.chain(named).collect();
    for entry in &all {
        assert_eq!(fresh.one.put(entry).await.unwrap(), Tally::ADDED);
        assert_eq!(fresh.one.put(entry).await.unwrap(), Tally::NOTHING, "the same again: {entry:?}");
    }
    fresh
        .through_both(async |store| {
            for entry in &all {
                assert_eq!(found(&**store, entry.id.as_str()).await.as_ref(), Some(entry));
            }
            let picked = store.pick_positive(usize::MAX, SeededEntropy::new(1).seed()).await.unwrap();
            let mut picked: Vec<_> = picked.iter().map(|entry| (**entry).clone()).collect();
            let mut expected = all.clone();
            for entries in [&mut picked, &mut expected] {
                entries.sort_by(|one, two| one.id.cmp(&two.id));
            }
            assert_eq!(picked, expected);
        })
        .await;
}

async fn each_entry_keeps_its_submitter_as_it_was_put(fresh: &Fresh<Port>) {
    let named = |id, text| {
        let mut entry = feedback(id, 5, user_id(1));
        entry.submitter.name = name(text);
        entry.submitter.avatar = format!("https://pictures.example/{text}.png").parse().unwrap();
        entry
    };
    let entries = [named("one", "then"), named("two", "now"), named("three", "later")];
    for entry in &entries {
        fresh.one.put(entry).await.unwrap();
    }
    assert_eq!(fresh.one.remove(&feedback_id("three")).await.unwrap(), Tally::REMOVED);
    fresh
        .through_both(async |store| {
            for entry in &entries[..2] {
                assert_eq!(found(&**store, entry.id.as_str()).await.as_ref(), Some(entry));
            }
        })
        .await;
}

async fn an_entry_is_removed_by_its_whole_id(fresh: &Fresh<Port>) {
    let ids = ["A_", "a", "a-", "a_", "a_b", "ab"];
    for id in ids {
        fresh.one.put(&feedback(id, 5, user_id(1))).await.unwrap();
    }
    assert_eq!(fresh.one.remove(&feedback_id("a_")).await.unwrap(), Tally::REMOVED);
    fresh
        .through_both(async |store| {
            for id in ids {
                assert_eq!(found(&**store, id).await.is_some(), id != "a_", "{id}");
            }
        })
        .await;
}

async fn a_put_that_is_given_up_is_made_whole_or_not_at_all(fresh: &Fresh<Port>) {
    let entry = |number: u64, stars, text| Feedback {
        text: prose(text),
        ..feedback(&format!("entry-{number}"), stars, user_id(1))
    };
    let given_up = GivenUp {
        fresh,
        what: "a put",
        ready: async |store: &Arc<Port>, number| store.put(&entry(number, 5, "good")).await.unwrap(),
        write: async |store: &Arc<Port>, number| store.put(&entry(number, 1, "bad")).await.unwrap(),
        look: async |store: &Arc<Port>, number| {
            let found = found(&**store, &format!("entry-{number}")).await;
            let picked = store.pick_positive(usize::MAX, SeededEntropy::new(1).seed()).await.unwrap();
            let picked = picked.iter().any(|one| one.id.as_str() == format!("entry-{number}"));
            (found.map(|found| (found.text, found.rating)), picked)
        },
        further: async |store: &Arc<Port>| store.remove(&feedback_id("further")).await.unwrap(),
    };
    given_up.leaves_all_or_nothing().await;
}

async fn a_write_does_not_block_the_thread_that_polls_it(fresh: &Fresh<Port>) {
    fresh.waits_elsewhere(async |store| store.put(&feedback("one", 5, user_id(1))).await.unwrap()).await;
}

async fn an_entry_that_cannot_be_read_costs_no_other(fresh: &Fresh<Port>) {
    let ids = ["one", "two", "three"];
    for id in ids {
        fresh.one.put(&feedback(id, 5, user_id(1))).await.unwrap();
    }
    for (damaged, readable) in [("one", 2), ("three", 1)] {
        if !fresh.damage(Damage::Feedback(feedback_id(damaged))).await {
            return;
        }
        fresh
            .through_both(async |store| {
                assert_eq!(found(&**store, damaged).await, None);
                assert!(found(&**store, "two").await.is_some());
                for seed in 0..20 {
                    let picked = store.pick_positive(2, SeededEntropy::new(seed).seed()).await.unwrap();
                    assert_eq!(picked.len(), readable, "as many as can be read");
                }
            })
            .await;
    }
    fresh.one.put(&feedback("one", 5, user_id(1))).await.unwrap();
    fresh.one.remove(&feedback_id("three")).await.unwrap();
    fresh
        .through_both(async |store| {
            let found = [found(&**store, "one").await, found(&**store, "three").await];
            assert_eq!(found, [Some(feedback("one", 5, user_id(1))), None]);
        })
        .await;
}

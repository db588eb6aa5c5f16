//! The contract of a [`FeedbackStore`](companion_domain::port::FeedbackStore): random picks, and pages of all positive
//! entries.

use super::{
    Fresh, Stores,
    concurrency::pages,
    sample::{LOTS, feedback, feedback_id, prose, user_id},
};
use crate::entropy::SeededEntropy;
use companion_domain::{
    change::{Key, Tally},
    model::{Feedback, FeedbackId},
    port::{Mutation, Record},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU32,
    sync::Arc,
};

suite! {
    /// Generates one test per behaviour of a `FeedbackStore`. It needs `Records` to write with.
    feedback_store_conformance($): feedback_store, Stores;
    an_unreadable_entry_affects_no_other,
    pages_contain_every_positive_entry_once_by_id,
    a_page_starts_after_an_id_whatever_has_changed,
    a_pick_has_the_requested_number_of_distinct_entries_by_its_seed,
    every_choice_and_order_is_equally_likely,
    a_rating_change_moves_an_entry_in_and_out_of_picks,
    picks_are_right_during_concurrent_writes,
    picks_from_very_many_entries,
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
        if !fresh.damage([Key::Feedback(feedback_id(damaged))]).await {
            return;
        }
        fresh
            .through_both(async |store| {
                assert_eq!(store.feedback.find(&feedback_id(damaged)).await.unwrap(), None);
                assert!(store.feedback.find(&feedback_id("two")).await.unwrap().is_some());
                for seed in 0..20 {
                    let picked = pick(store, 2, &SeededEntropy::new(seed)).await;
                    assert_eq!(picked.len(), readable, "as many as can be read");
                }
            })
            .await;
    }
}

async fn page(store: &Stores, after: Option<&str>, most: u32) -> Vec<String> {
    let after = after.map(feedback_id);
    let page = store.feedback.positive_after(after.as_ref(), NonZeroU32::new(most).unwrap()).await.unwrap();
    page.iter().map(|entry| entry.id.to_string()).collect()
}

async fn pages_contain_every_positive_entry_once_by_id(fresh: &Fresh<Stores>) {
    assert_eq!(page(&fresh.one, None, 3).await, [""; 0]);
    let ids = ["b", "a", "B", "a-", "a_", "aa", "0", "-", "_", "z9"];
    for (number, id) in (0_i64..).zip(ids) {
        put(&fresh.one, id, 4 + number % 2).await;
    }
    for (id, rating) in [("A", 3), ("c", 1), ("zz", 2)] {
        put(&fresh.one, id, rating).await;
    }
    let mut expected = ids;
    expected.sort_unstable();
    fresh.settle().await;
    for most in [1, 2, 3, 9, 10, 11, 500, u32::MAX] {
        for store in [&fresh.one, &fresh.other] {
            let listed = pages(
                most,
                async |after: Option<String>, most| page(store, after.as_deref(), most.get()).await,
                async |_| {},
            );
            assert_eq!(listed.await, expected, "in pages of {most}");
        }
    }
}

/// The id itself may be gone, and changes between pages affect no other entry.
async fn a_page_starts_after_an_id_whatever_has_changed(fresh: &Fresh<Stores>) {
    let store = &fresh.one;
    for number in 0..20 {
        put(store, &format!("entry-{number:02}"), 5).await;
    }
    let whole = store.feedback.positive_after(None, NonZeroU32::MIN).await.unwrap();
    assert_eq!(whole, [Arc::new(feedback("entry-00", 5, user_id(1)))]);
    assert_eq!(page(store, None, 5).await.last().unwrap(), "entry-04");
    // On both sides of the page: removed, demoted and new entries.
    take_back(store, &feedback_id("entry-01")).await;
    take_back(store, &feedback_id("entry-10")).await;
    put(store, "entry-02", 1).await;
    put(store, "entry-11", 1).await;
    put(store, "entry-00-new", 5).await;
    put(store, "entry-12-new", 5).await;
    let left = (5..20).filter(|number| !matches!(number, 10 | 11));
    let mut expected: Vec<_> = left.map(|number| format!("entry-{number:02}")).collect();
    expected.push("entry-12-new".to_owned());
    expected.sort_unstable();
    for after in ["entry-04", "entry-04-gone"] {
        assert_eq!(page(store, Some(after), 100).await, expected, "after {after}");
    }
    assert_eq!(page(store, Some("entry-19"), 100).await, [""; 0]);
}

/// Number of picks: enough to detect an entry that occurs a fifth too often, and still fast.
const DRAWS: u32 = 2000;
/// Chi-square with 11 degrees of freedom exceeds this once in a thousand fair trials.
const CRITICAL: f64 = 31.26;

/// Returns the ids of one pick, in order.
async fn pick(store: &Stores, count: usize, chance: &SeededEntropy) -> Vec<String> {
    let picked = store.feedback.pick_positive(count, chance.seed()).await.unwrap();
    picked.iter().map(|entry| entry.id.to_string()).collect()
}

/// Returns the ids of all positive entries, sorted.
async fn all(store: &Stores) -> Vec<String> {
    let mut ids = pick(store, usize::MAX, &SeededEntropy::new(1)).await;
    ids.sort_unstable();
    ids
}

async fn a_pick_has_the_requested_number_of_distinct_entries_by_its_seed(fresh: &Fresh<Stores>) {
    for number in 0..12 {
        put(&fresh.one, &format!("entry-{number}"), 4 + number % 2).await;
    }
    let (one, two) = (SeededEntropy::new(7), SeededEntropy::new(7));
    for count in (0..200).map(|round| round % 13).chain([13, 1000, usize::MAX]) {
        let mut picked = pick(&fresh.one, count, &one).await;
        assert_eq!(picked, pick(&fresh.one, count, &two).await, "the same seed picks the same");
        picked.sort_unstable();
        picked.dedup();
        assert_eq!(picked.len(), count.min(12));
    }
}

/// Two out of four in order: twelve outcomes. The four remain of seven after removals, demotions and promotions, so
/// that gaps in an adapter's index would show.
async fn every_choice_and_order_is_equally_likely(fresh: &Fresh<Stores>) {
    let store = &fresh.one;
    for (id, rating) in [("a", 5), ("b", 4), ("c", 5), ("d", 3), ("e", 4), ("f", 1), ("h", 5)] {
        put(store, id, rating).await;
    }
    take_back(store, &feedback_id("a")).await;
    take_back(store, &feedback_id("h")).await;
    put(store, "c", 2).await;
    put(store, "d", 5).await;
    put(store, "g", 4).await;
    assert_eq!(all(store).await, ["b", "d", "e", "g"]);
    let chance = SeededEntropy::new(42);
    let mut outcomes: BTreeMap<Vec<String>, f64> = BTreeMap::new();
    for _ in 0..DRAWS {
        *outcomes.entry(pick(store, 2, &chance).await).or_default() += 1.0;
    }
    assert_eq!(outcomes.len(), 12, "every outcome comes up: {outcomes:?}");
    let expected = f64::from(DRAWS) / 12.0;
    let chi_square: f64 = outcomes.values().map(|count| (count - expected).powi(2) / expected).sum();
    assert!(chi_square < CRITICAL, "chi-square {chi_square} is not below {CRITICAL}: {outcomes:?}");
}

async fn a_rating_change_moves_an_entry_in_and_out_of_picks(fresh: &Fresh<Stores>) {
    let store = &fresh.one;
    assert_eq!(all(store).await, [""; 0]);
    for rating in [3, 4, 5, 1, 5, 2, 4, 3] {
        put(store, "one", rating).await;
        let expected = if rating >= 4 { vec!["one"] } else { vec![] };
        assert_eq!(fresh.shows(async |store| all(store).await).await, expected, "with {rating} stars");
    }
    put(store, "one", 4).await;
    let reworded = Feedback { text: prose("Other words"), ..feedback("one", 4, user_id(1)) };
    say(store, &reworded).await;
    let picked = store.feedback.pick_positive(5, SeededEntropy::new(1).seed()).await.unwrap();
    assert_eq!(picked, [Arc::new(reworded)], "as it reads now");
}

async fn picks_are_right_during_concurrent_writes(fresh: &Fresh<Stores>) {
    fresh
        .concurrently(|number, store| async move {
            let id = format!("entry-{number:02}");
            put(&store, &id, 5).await;
            match number % 4 {
                0 => assert_eq!(take_back(&store, &feedback_id(&id)).await.removed, 1),
                1 => put(&store, &id, 2).await,
                2 => put(&store, &id, 4).await,
                _ => {}
            }
        })
        .await;
    let expected: Vec<_> =
        (0..32).filter(|number| number % 4 >= 2).map(|number| format!("entry-{number:02}")).collect();
    assert_eq!(all(&fresh.one).await, expected);
    let chance = SeededEntropy::new(5);
    for _ in 0..50 {
        assert_eq!(pick(&fresh.one, 5, &chance).await.len(), 5, "a full pick, with no holes to fall into");
    }
}

async fn picks_from_very_many_entries(fresh: &Fresh<Stores>) {
    let entries: Vec<_> =
        (0..LOTS).map(|number| feedback(&format!("entry-{number:04}"), 5, user_id(1))).collect();
    let put = entries.iter().cloned().map(Record::Feedback).map(Mutation::Put);
    assert_eq!(fresh.one.records.apply(put.collect()).await.unwrap().tally.added, LOTS);
    let expected: Vec<_> = entries.iter().map(|entry| entry.id.to_string()).collect();
    let picked = fresh.shows(async |store| all(store).await).await;
    assert!(picked == expected, "{} of {LOTS}", picked.len());
    // Picks of five must cover each tenth of the ids: a fair pick misses one of them once in 10^20 times.
    let (mut tenths, chance) = (BTreeSet::new(), SeededEntropy::new(7));
    for _ in 0..100 {
        let picked = pick(&fresh.one, 5, &chance).await;
        tenths.extend(picked.iter().map(|id| expected.binary_search(id).unwrap() * 10 / expected.len()));
    }
    assert_eq!(tenths.len(), 10);
}

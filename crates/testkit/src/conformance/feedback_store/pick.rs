//! Picks positive entries at random.

use super::{put, say, take_back};
use crate::{
    conformance::{
        Fresh, Stores,
        sample::{LOTS, feedback, feedback_id, prose, user_id},
    },
    entropy::SeededEntropy,
};
use companion_domain::{
    model::Feedback,
    port::{Mutation, Record},
};
use std::collections::{BTreeMap, BTreeSet};

/// Number of picks: enough to detect an entry that occurs a fifth too often, and still fast.
const DRAWS: u32 = 2000;
/// Chi-square with 11 degrees of freedom exceeds this once in a thousand fair trials.
const CRITICAL: f64 = 31.26;

/// Returns the ids of one pick, in order.
pub(super) async fn pick(store: &Stores, count: usize, chance: &SeededEntropy) -> Vec<String> {
    let picked = store.feedback.pick_positive(count, chance.seed()).await.unwrap();
    picked.iter().map(|entry| entry.id.to_string()).collect()
}

/// Returns the ids of all positive entries, sorted.
async fn all(store: &Stores) -> Vec<String> {
    let mut ids = pick(store, usize::MAX, &SeededEntropy::new(1)).await;
    ids.sort_unstable();
    ids
}

pub(super) async fn picks_only_four_and_five_stars(fresh: &Fresh<Stores>) {
    assert_eq!(all(&fresh.one).await, [""; 0]);
    for rating in 1..=5 {
        put(&fresh.one, &format!("{rating}-a"), rating).await;
        put(&fresh.one, &format!("{rating}-b"), rating).await;
    }
    assert_eq!(all(&fresh.one).await, ["4-a", "4-b", "5-a", "5-b"]);
    let picked = fresh.one.feedback.pick_positive(9, SeededEntropy::new(1).seed()).await.unwrap();
    for entry in picked {
        let expected = feedback(entry.id.as_str(), entry.rating.stars().into(), user_id(1));
        assert_eq!(*entry, expected, "what is picked is the whole entry");
    }
}

pub(super) async fn a_pick_has_the_requested_number_of_distinct_entries_by_its_seed(fresh: &Fresh<Stores>) {
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
pub(super) async fn every_choice_and_order_is_equally_likely(fresh: &Fresh<Stores>) {
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

pub(super) async fn a_rating_change_moves_an_entry_in_and_out_of_picks(fresh: &Fresh<Stores>) {
    let store = &fresh.one;
    for (rating, expected) in
        [(3, vec![]), (4, vec!["one"]), (5, vec!["one"]), (1, vec![]), (5, vec!["one"]), (3, vec![])]
    {
        put(store, "one", rating).await;
        assert_eq!(fresh.shows(async |store| all(store).await).await, expected, "with {rating} stars");
    }
    put(store, "one", 4).await;
    let reworded = Feedback { text: prose("Other words"), ..feedback("one", 4, user_id(1)) };
    say(store, &reworded).await;
    let picked = store.feedback.pick_positive(5, SeededEntropy::new(1).seed()).await.unwrap();
    assert_eq!(picked.iter().map(|entry| &**entry).collect::<Vec<_>>(), [&reworded], "as it reads now");
}

pub(super) async fn picks_are_right_during_concurrent_writes(fresh: &Fresh<Stores>) {
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

pub(super) async fn picks_from_very_many_entries(fresh: &Fresh<Stores>) {
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

//! Reads all positive entries page by page.

use super::{put, take_back};
use crate::conformance::{
    Fresh, Stores,
    concurrency::pages,
    sample::{feedback, feedback_id, user_id},
};
use std::num::NonZeroU32;

async fn page(store: &Stores, after: Option<&str>, most: u32) -> Vec<String> {
    let after = after.map(feedback_id);
    let page = store.feedback.positive_after(after.as_ref(), NonZeroU32::new(most).unwrap()).await.unwrap();
    page.iter().map(|entry| entry.id.to_string()).collect()
}

pub(super) async fn pages_contain_every_positive_entry_once_by_id(fresh: &Fresh<Stores>) {
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

pub(super) async fn a_page_starts_after_an_id_that_need_not_exist(fresh: &Fresh<Stores>) {
    for id in ["a", "c", "e"] {
        put(&fresh.one, id, 5).await;
    }
    assert_eq!(page(&fresh.one, Some("b"), 9).await, ["c", "e"]);
    assert_eq!(page(&fresh.one, Some("c"), 9).await, ["e"], "an entry is not after itself");
    assert_eq!(page(&fresh.one, Some("e"), 9).await, [""; 0]);
    let whole = fresh.one.feedback.positive_after(None, NonZeroU32::MIN).await.unwrap();
    assert_eq!(whole.iter().map(|entry| &**entry).collect::<Vec<_>>(), [&feedback("a", 5, user_id(1))]);
}

pub(super) async fn changes_between_pages_affect_no_other_entry(fresh: &Fresh<Stores>) {
    let store = &fresh.one;
    for number in 0..20 {
        put(store, &format!("entry-{number:02}"), 5).await;
    }
    assert_eq!(page(store, None, 5).await.last().unwrap(), "entry-04");
    // On both sides of the page: removed, demoted and new entries.
    take_back(store, &feedback_id("entry-01")).await;
    take_back(store, &feedback_id("entry-10")).await;
    put(store, "entry-02", 1).await;
    put(store, "entry-11", 1).await;
    put(store, "entry-00-new", 5).await;
    put(store, "entry-12-new", 5).await;
    let expected: Vec<_> = (5..20)
        .filter(|number| !matches!(number, 10 | 11))
        .flat_map(|number| {
            let new = (number == 12).then(|| "entry-12-new".to_owned());
            [Some(format!("entry-{number:02}")), new]
        })
        .flatten()
        .collect();
    assert_eq!(page(store, Some("entry-04"), 100).await, expected);
}

//! What the behaviours have in common.

use crate::conformance::{Fresh, Stores};
use companion_domain::change::{Change, Changes, Revision, Subject};

/// The changes after a revision that the history still knows.
pub(super) async fn since(stores: &Stores, revision: Revision) -> Vec<Change> {
    match stores.changes.since(revision).await.unwrap() {
        Changes::Listed(changes) => changes,
        gap @ Changes::Gap(_) => {
            assert_eq!(gap, Changes::Listed(vec![]), "nobody forgets so soon");
            vec![]
        }
    }
}

/// The subjects that a write records, as a reader at the other handle sees them.
pub(super) async fn subjects_of<T>(
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

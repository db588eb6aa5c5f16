//! The history of changes, and its subscribers.

use super::StoreError;
use crate::change::{Change, Changes, Revision};
use async_trait::async_trait;

/// Reports what has changed, over all processes that share the store. A decorator may have revisions of its own, so a
/// revision is only valid for the feed that returned it.
///
/// Cache entries are valid because the feed was polled and reported no change of them. So a feed that may lag behind
/// the last write, such as one on a standby server, must not answer: it returns
/// [`Unavailable`](super::StoreErrorKind::Unavailable). A store that may have lost changes and made others in their
/// place gives those other revisions; the lost ones are a gap.
#[async_trait]
pub trait ChangeFeed: Send + Sync {
    /// Returns the revision of the newest change, or [`Revision::default`] if there is none.
    async fn latest(&self) -> Result<Revision, StoreError>;

    /// Returns every change after `revision`, in order, each exactly once. Returns a gap if the history no longer
    /// reaches back that far, or if the revision is unknown. A change is listed no later than the write that made it
    /// returns. Unspecified: how far the history reaches back, the order of changes of one write, and whether many
    /// changes of a kind are listed one by one or as [`Many`](crate::change::Subject::Many).
    async fn since(&self, revision: Revision) -> Result<Changes, StoreError>;

    /// Returns when there may be changes after `revision`. It may wake spuriously and may miss changes, so readers
    /// also poll periodically; it only wakes them early. The default never returns.
    async fn wait_for_change(&self, revision: Revision) {
        let _ = revision;
        std::future::pending::<()>().await;
    }
}

/// Holds state derived from stored data, such as a cache or a projection.
#[async_trait]
pub trait Subscriber: Send + Sync {
    /// Returns the name under which its progress is reported.
    fn name(&self) -> &'static str {
        "other"
    }

    /// Updates the derived state. The same changes may be delivered again: after an error, and because a change made
    /// by this process is delivered at once and is in the feed too. So this must be idempotent.
    async fn receive(&self, batch: &ChangeBatch) -> Result<(), StoreError>;
}

/// A delivery to a subscriber.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeBatch {
    /// These records may have changed.
    Changes(Vec<Change>),
    /// Any record may have changed.
    Everything,
}

//! The history of changes, and those who follow it.

use super::StoreError;
use crate::change::{Change, Changes, Revision};
use async_trait::async_trait;

/// Tells what has changed, over all processes that share the store. A decorator may have revisions of its own, so a
/// revision is for the feed that gave it, and for nothing else.
///
/// Copies count because this was asked and told of nothing else. So whoever may lag behind the last write, as a standby of
/// a server does, must not answer: that is an error, [`Unavailable`](super::StoreErrorKind::Unavailable). And a store that
/// may have lost changes and made others in their place gives them other revisions; the lost ones are a gap.
#[async_trait]
pub trait ChangeFeed: Send + Sync {
    /// The revision of the newest change, or [`Revision::default`] where nothing ever changed.
    async fn latest(&self) -> Result<Revision, StoreError>;

    /// Every change after `revision`, in order, each exactly once; or a gap where the history no longer reaches back
    /// that far, or does not know the revision at all. A change is listed no later than the answer to the write that
    /// made it. How far the history reaches back is left open, and so are the order of changes that one write made, and
    /// whether many of a kind are told one by one or as [`Many`](crate::change::Subject::Many).
    async fn since(&self, revision: Revision) -> Result<Changes, StoreError>;

    /// Returns when there may be changes after `revision`. It may return too often and may miss changes, so readers
    /// also ask from time to time; it only wakes them early. The default never wakes anyone.
    async fn wait_for_change(&self, revision: Revision) {
        let _ = revision;
        std::future::pending::<()>().await;
    }
}

/// Something that keeps a copy of what is stored: a cache or a projection.
#[async_trait]
pub trait Subscriber: Send + Sync {
    /// What it is called where its state is looked at.
    fn name(&self) -> &'static str {
        "other"
    }

    /// Brings the copy up to date. The same news may come again, after an error and because a change that this process
    /// made is delivered at once and stands in the feed too; so this must bear repetition.
    async fn receive(&self, batch: &ChangeBatch) -> Result<(), StoreError>;
}

/// What a subscriber is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeBatch {
    /// These things may be different now.
    Changes(Vec<Change>),
    /// Anything may be different now.
    Everything,
}

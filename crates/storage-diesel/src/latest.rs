//! The newest revision known to this node.

use companion_domain::change::Revision;
use tokio::sync::watch;

/// The newest revision committed by this node or notified by another. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct LatestRevision(watch::Sender<Revision>);

impl LatestRevision {
    /// Raises the newest revision, and wakes the tasks that wait for it.
    pub(crate) fn advance(&self, latest: Revision) {
        self.0.send_if_modified(|known| {
            let newer = latest > *known;
            *known = latest.max(*known);
            newer
        });
    }

    /// Sets the newest revision, even if a newer one was known: a server may have been restored to an earlier state.
    pub(crate) fn reset(&self, latest: Revision) {
        self.0.send_if_modified(|known| std::mem::replace(known, latest) != latest);
    }

    /// Waits until a revision newer than this one is known.
    pub(crate) async fn newer_than(&self, revision: Revision) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|latest| *latest > revision).await;
    }
}

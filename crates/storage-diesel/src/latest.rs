//! The newest revision that this node knows of.

use companion_domain::change::Revision;
use tokio::sync::watch;

/// The newest revision that was committed here, or that another node has told of. Clones share it.
#[derive(Clone)]
pub(crate) struct LatestRevision(watch::Sender<Revision>);

impl LatestRevision {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(Revision::default()))
    }

    /// Wakes whoever waits for a revision as new as this.
    pub(crate) fn advance(&self, latest: Revision) {
        self.0.send_if_modified(|known| {
            let newer = latest > *known;
            *known = latest.max(*known);
            newer
        });
    }

    /// Says which revision is the newest, even where a newer one was known: a server may have been set back.
    #[cfg(feature = "postgres")]
    pub(crate) fn reset(&self, latest: Revision) {
        self.0.send_if_modified(|known| std::mem::replace(known, latest) != latest);
    }

    /// Returns when a newer revision than this is known.
    pub(crate) async fn newer_than(&self, revision: Revision) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|latest| *latest > revision).await;
    }
}

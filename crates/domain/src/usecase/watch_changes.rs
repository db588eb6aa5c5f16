//! Streaming of changes.

use super::ChangeDispatcher;
use crate::{
    change::{Change, Changes, Revision},
    port::{ChangeBatch, ChangeFeed, StoreError, Subscriber},
};
use async_trait::async_trait;
use std::{
    collections::{BTreeMap, VecDeque},
    mem,
    ops::Bound,
    sync::{Arc, PoisonError, RwLock},
};

/// Maximum number of changes per event.
const MAX_CHANGES_PER_EVENT: usize = 256;
/// Number of changes kept. A watch that is further behind reads the feed.
const MAX_RECENT_CHANGES: usize = 4096;

/// Streams every change, once all subscribers of this process have received it. Watches that keep up share one read
/// of the feed.
pub struct WatchChanges {
    feed: Arc<dyn ChangeFeed>,
    dispatcher: Arc<ChangeDispatcher>,
    recent: Arc<RecentChanges>,
}

impl WatchChanges {
    pub(super) fn new(feed: Arc<dyn ChangeFeed>, dispatcher: Arc<ChangeDispatcher>) -> Self {
        let recent = Arc::new(RecentChanges::default());
        dispatcher.add(recent.clone());
        Self { feed, dispatcher, recent }
    }

    /// Returns a watch that continues after this revision, or begins now.
    #[must_use]
    pub fn after(self: &Arc<Self>, position: Option<Revision>) -> Watch {
        Watch {
            changes: Arc::clone(self),
            position,
            // A given revision may be unknown to the feed.
            is_known: position.is_none(),
            queued: VecDeque::new(),
            has_begun: false,
        }
    }
}

/// The last changes, which watches that keep up read instead of the feed.
#[derive(Default)]
struct RecentChanges(RwLock<BTreeMap<Revision, Change>>);

#[async_trait]
impl Subscriber for RecentChanges {
    fn name(&self) -> &'static str {
        "change_streams"
    }

    async fn receive(&self, batch: &ChangeBatch) -> Result<(), StoreError> {
        let mut recent = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match batch {
            ChangeBatch::Everything => recent.clear(),
            // A change may be delivered before earlier ones, and again with them.
            ChangeBatch::Changes(changes) => {
                recent.extend(changes.iter().map(|change| (change.revision, change.clone())));
            }
        }
        while recent.len() > MAX_RECENT_CHANGES {
            recent.pop_first();
        }
        Ok(())
    }
}

impl RecentChanges {
    /// Returns the changes after one revision up to another, which is at most the one that is shown. `None` if they are not
    /// in memory, or if the first revision is newer than all of these and may come from elsewhere.
    fn between(&self, after: Revision, until: Revision) -> Option<Vec<Change>> {
        let recent = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let ((first, _), (last, _)) = (recent.first_key_value()?, recent.last_key_value()?);
        if after.0.saturating_add(1) < first.0 || *last < after {
            return None;
        }
        let these = recent.range((Bound::Excluded(after), Bound::Included(until.max(after))));
        Some(these.map(|(_, change)| change.clone()).collect())
    }
}

/// An event of a watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent {
    /// Changes after this revision will follow. The first event if no position was requested.
    Beginning(Revision),
    /// Changes in order, each once.
    Changes(Vec<Change>),
    /// Anything may have changed: the history does not reach back. All changes after this revision will follow.
    Reset(Revision),
}

/// A stream of changes for one reader.
pub struct Watch {
    changes: Arc<WatchChanges>,
    position: Option<Revision>,
    is_known: bool,
    queued: VecDeque<Change>,
    has_begun: bool,
}

impl Watch {
    /// Waits for the next event. Cancel-safe: no event is lost.
    pub async fn next(&mut self) -> Result<WatchEvent, StoreError> {
        if !self.has_begun {
            // Without a watch nothing may have polled the feed recently. If this fails, the watch begins further back.
            let _ = self.changes.dispatcher.catch_up().await;
            self.has_begun = true;
        }
        loop {
            if !self.queued.is_empty() {
                let rest = self.queued.split_off(MAX_CHANGES_PER_EVENT.min(self.queued.len()));
                return Ok(WatchEvent::Changes(mem::replace(&mut self.queued, rest).into()));
            }
            let shown = self.changes.dispatcher.shown();
            match (shown, self.position) {
                (Some(shown), None) => {
                    self.position = Some(shown);
                    return Ok(WatchEvent::Beginning(shown));
                }
                (Some(shown), Some(position)) if position < shown || !self.is_known => {
                    if let Some(reset) = self.catch_up(position, shown).await? {
                        return Ok(WatchEvent::Reset(reset));
                    }
                }
                (None, _) | (Some(_), Some(_)) => self.changes.dispatcher.moved(shown).await,
            }
        }
    }

    /// Queues the changes after `position` up to `shown`. Returns where to begin anew if the history does not reach back.
    async fn catch_up(
        &mut self,
        position: Revision,
        shown: Revision,
    ) -> Result<Option<Revision>, StoreError> {
        let changes = match self.changes.recent.between(position, shown) {
            Some(recent) => Changes::Listed(recent),
            None => self.changes.feed.since(position).await?,
        };
        self.is_known = true;
        match changes {
            Changes::Gap(latest) => {
                let anew = latest.min(shown);
                self.position = Some(anew);
                Ok(Some(anew))
            }
            Changes::Listed(mut changes) => {
                changes.retain(|change| change.revision <= shown);
                self.position = Some(position.max(shown));
                self.queued = changes.into();
                Ok(None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::{Kind, Subject};
    use futures_util::FutureExt as _;

    fn receive(recent: &RecentChanges, revisions: impl IntoIterator<Item = u64>) {
        let change = |number| Change { revision: Revision(number), subject: Subject::Many(Kind::Team) };
        let batch = ChangeBatch::Changes(revisions.into_iter().map(change).collect());
        recent.receive(&batch).now_or_never().unwrap().unwrap();
    }

    fn between(recent: &RecentChanges, after: u64, until: u64) -> Option<Vec<u64>> {
        let found = recent.between(Revision(after), Revision(until))?;
        Some(found.iter().map(|change| change.revision.0).collect())
    }

    #[test]
    fn returns_changes_between_known_revisions() {
        let recent = RecentChanges::default();
        assert_eq!(between(&recent, 0, 0), None);
        for revisions in [vec![8], vec![11], vec![10, 11]] {
            receive(&recent, revisions);
        }
        assert_eq!(between(&recent, 7, 11), Some(vec![8, 10, 11]));
        assert_eq!(between(&recent, 8, 10), Some(vec![10]));
        assert_eq!(between(&recent, 11, 10), Some(vec![]));
        assert_eq!(between(&recent, 6, 11), None, "older changes are unknown");
        assert_eq!(between(&recent, 12, 11), None, "a revision of another feed");
    }

    #[test]
    fn drops_the_oldest_changes_first_and_all_after_a_gap() {
        let (recent, many) = (RecentChanges::default(), MAX_RECENT_CHANGES as u64 + 3);
        receive(&recent, 1..=many);
        assert_eq!(between(&recent, 2, many), None);
        assert_eq!(between(&recent, 3, many).unwrap().len(), MAX_RECENT_CHANGES);
        recent.receive(&ChangeBatch::Everything).now_or_never().unwrap().unwrap();
        assert_eq!(between(&recent, 3, many), None);
    }
}

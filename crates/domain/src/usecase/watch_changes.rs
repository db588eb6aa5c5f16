//! Streaming of changes.

use super::ChangeDispatcher;
use crate::{
    change::{Change, Changes, Revision},
    port::{ChangeBatch, ChangeFeed, StoreError, Subscriber},
};
use async_trait::async_trait;
use std::{collections::VecDeque, mem, sync::Arc};

/// Maximum number of changes per event.
const MAX_CHANGES_PER_EVENT: usize = 256;

/// Streams every change, once all subscribers of this process have received it. Watches that keep up share one read
/// of the feed.
pub struct WatchChanges {
    feed: Arc<dyn ChangeFeed>,
    dispatcher: Arc<ChangeDispatcher>,
}

impl WatchChanges {
    pub(super) fn new(feed: Arc<dyn ChangeFeed>, dispatcher: Arc<ChangeDispatcher>) -> Self {
        dispatcher.add(Arc::new(WatchSubscriber));
        Self { feed, dispatcher }
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

/// Subscribes although it holds no state, so that the dispatcher polls the feed even without other subscribers.
struct WatchSubscriber;

#[async_trait]
impl Subscriber for WatchSubscriber {
    fn name(&self) -> &'static str {
        "change_streams"
    }

    async fn receive(&self, _: &ChangeBatch) -> Result<(), StoreError> {
        Ok(())
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
        let changes = match self.changes.dispatcher.recent(position, shown) {
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

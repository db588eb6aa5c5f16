//! Hearing of changes as they come.

use super::ChangeDispatcher;
use crate::{
    change::{Change, Changes, Revision},
    port::{ChangeBatch, ChangeFeed, StoreError, Subscriber},
};
use async_trait::async_trait;
use std::{collections::VecDeque, mem, sync::Arc};

/// So many changes are handed over at once.
const AT_ONCE: usize = 256;

/// Lets anyone hear of every change, once all copies of this process show it. Those who keep up share one look at the feed.
pub struct WatchChanges {
    feed: Arc<dyn ChangeFeed>,
    dispatcher: Arc<ChangeDispatcher>,
}

impl WatchChanges {
    pub(super) fn new(feed: Arc<dyn ChangeFeed>, dispatcher: Arc<ChangeDispatcher>) -> Self {
        dispatcher.add(Arc::new(WatchSubscriber));
        Self { feed, dispatcher }
    }

    /// Goes on after this revision, or begins now.
    #[must_use]
    pub fn after(&self, position: Option<Revision>) -> Watch {
        Watch {
            feed: Arc::clone(&self.feed),
            dispatcher: Arc::clone(&self.dispatcher),
            position,
            // Whether the feed knows it at all.
            is_known: position.is_none(),
            waiting: VecDeque::new(),
            has_begun: false,
        }
    }
}

/// Follows although it keeps nothing, so that changes are told of where nobody keeps a copy, too.
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

/// What someone hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent {
    /// Changes after this revision will be told. It comes first, where no position was asked for.
    Beginning(Revision),
    /// These changes, in order, each once.
    Changes(Vec<Change>),
    /// Anything may be different: the history does not reach back. From this revision on everything will be told.
    Reset(Revision),
}

/// Someone who hears of changes.
pub struct Watch {
    feed: Arc<dyn ChangeFeed>,
    dispatcher: Arc<ChangeDispatcher>,
    position: Option<Revision>,
    is_known: bool,
    waiting: VecDeque<Change>,
    has_begun: bool,
}

impl Watch {
    /// Waits for what comes next. Nothing is lost where that is broken off.
    pub async fn next(&mut self) -> Result<WatchEvent, StoreError> {
        if !self.has_begun {
            // While nobody heard of changes, nobody waited for them to be told. Without an answer it begins further back.
            let _ = self.dispatcher.catch_up().await;
            self.has_begun = true;
        }
        loop {
            if !self.waiting.is_empty() {
                let rest = self.waiting.split_off(AT_ONCE.min(self.waiting.len()));
                return Ok(WatchEvent::Changes(mem::replace(&mut self.waiting, rest).into()));
            }
            let shown = self.dispatcher.shown();
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
                (None, _) | (Some(_), Some(_)) => self.dispatcher.moved(shown).await,
            }
        }
    }

    /// Takes in what came after `position` and is shown. Returns where to begin anew, if nobody knows what that is.
    async fn catch_up(
        &mut self,
        position: Revision,
        shown: Revision,
    ) -> Result<Option<Revision>, StoreError> {
        let changes = match self.dispatcher.recent(position, shown) {
            Some(recent) => Changes::Listed(recent),
            None => self.feed.since(position).await?,
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
                self.waiting = changes.into();
                Ok(None)
            }
        }
    }
}

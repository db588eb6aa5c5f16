//! Keeping caches and projections up to date.

use crate::{
    change::{Changes, Revision},
    port::{ChangeFeed, Follower, News, StoreError},
};
use async_lock::Mutex;
use std::sync::Arc;

/// Leads all followers of one process along the change feed.
pub struct Following {
    feed: Arc<dyn ChangeFeed>,
    followers: Vec<Arc<dyn Follower>>,
    /// Where the followers stand; nothing until they have loaded everything once. Held while they are led, so that
    /// no older state can overtake a newer one.
    position: Mutex<Option<Revision>>,
}

impl Following {
    /// Leads these followers. They stand nowhere until the first [`catch_up`](Self::catch_up).
    #[must_use]
    pub fn new(feed: Arc<dyn ChangeFeed>, followers: Vec<Arc<dyn Follower>>) -> Self {
        Self { feed, followers, position: Mutex::new(None) }
    }

    /// Returns when every follower has seen every change that was made before the call.
    pub async fn catch_up(&self) -> Result<Revision, StoreError> {
        let mut position = self.position.lock().await;
        let (news, reached) = match *position {
            // The revision is read first: what changes while followers load is told to them again, never missed.
            None => (News::Everything, self.feed.latest().await?),
            Some(standing) => match self.feed.since(standing).await? {
                Changes::Gap(latest) => (News::Everything, latest),
                Changes::Listed(changes) => match changes.last().map(|change| change.revision) {
                    Some(last) => (News::Changes(changes), last),
                    None => return Ok(standing),
                },
            },
        };
        for follower in &self.followers {
            follower.follow(&news).await?;
        }
        *position = Some(reached);
        Ok(reached)
    }

    /// Whether every follower has loaded at least once.
    pub async fn is_loaded(&self) -> bool {
        self.position.lock().await.is_some()
    }

    /// Returns when there may be something new. It may never return; ask again from time to time.
    pub async fn news(&self) {
        let position = *self.position.lock().await;
        self.feed.news(position.unwrap_or_default()).await;
    }
}

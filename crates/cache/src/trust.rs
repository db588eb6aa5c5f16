//! How long entries are valid without contact to the store.

use companion_domain::{
    port::{Scheduler, StoreError},
    usecase::{ChangeDispatcher, Progress, timeout},
};
use std::{sync::Arc, time::Duration};

/// Age up to which entries are served without polling the feed.
const FRESH_FOR: Duration = Duration::from_secs(1);
/// How long a request waits for a poll of the feed.
const CATCH_UP_TIMEOUT: Duration = Duration::from_millis(250);
/// Age up to which entries are served if the store does not answer.
const STALE_IF_UNAVAILABLE_FOR: Duration = Duration::from_secs(10);

/// Decides by their age whether entries may be served.
#[derive(Clone)]
pub(crate) struct Trust {
    pub(crate) dispatcher: Arc<ChangeDispatcher>,
    /// The cache's position in the feed.
    pub(crate) progress: Arc<Progress>,
    pub(crate) scheduler: Arc<dyn Scheduler>,
}

impl Trust {
    /// Returns whether entries may be served without polling the feed.
    pub(crate) fn is_fresh(&self) -> bool {
        self.is_younger_than(FRESH_FOR)
    }

    /// Waits until entries may be served. Returns `Err` if they are too old and the store does not answer.
    pub(crate) async fn confirm(&self) -> Result<(), StoreError> {
        if self.is_fresh() {
            return Ok(());
        }
        // On failure or timeout, the age of the entries decides.
        let _ = timeout(&*self.scheduler, CATCH_UP_TIMEOUT, self.freshen()).await;
        if self.is_younger_than(STALE_IF_UNAVAILABLE_FOR) {
            return Ok(());
        }
        Err(StoreError::unavailable("the change feed has not answered for too long"))
    }

    async fn freshen(&self) -> Result<(), StoreError> {
        self.dispatcher.freshen().await?;
        // The poll in flight may have begun before the machine was suspended.
        if self.is_younger_than(STALE_IF_UNAVAILABLE_FOR) { Ok(()) } else { self.dispatcher.catch_up().await }
    }

    fn is_younger_than(&self, age: Duration) -> bool {
        self.progress.age().is_some_and(|current| current < age)
    }
}

//! How long copies count without a word from the store.

use companion_domain::{
    port::{Scheduler, StoreError},
    usecase::{ChangeDispatcher, Progress, timeout},
};
use std::{sync::Arc, time::Duration};

/// Entries as old as this are as good as the store.
const FRESH_FOR: Duration = Duration::from_secs(1);
/// How long a request waits for younger ones.
const CATCH_UP_TIMEOUT: Duration = Duration::from_millis(250);
/// Until copies are as old as this they stand in for a store that does not answer.
const STALE_IF_UNAVAILABLE_FOR: Duration = Duration::from_secs(10);

/// Tells whether copies of sessions and rights count.
#[derive(Clone)]
pub(crate) struct Trust {
    pub(crate) dispatcher: Arc<ChangeDispatcher>,
    /// How far the copies are.
    pub(crate) progress: Arc<Progress>,
    pub(crate) scheduler: Arc<dyn Scheduler>,
}

impl Trust {
    /// Whether copies may be used without a question.
    pub(crate) fn is_fresh(&self) -> bool {
        self.is_younger_than(FRESH_FOR)
    }

    /// Returns when copies may be used.
    pub(crate) async fn confirm(&self) -> Result<(), StoreError> {
        if self.is_fresh() {
            return Ok(());
        }
        // Whether it failed or takes too long, what counts is how old the copies are afterwards.
        let _ = timeout(&*self.scheduler, CATCH_UP_TIMEOUT, self.freshen()).await;
        if self.is_younger_than(STALE_IF_UNAVAILABLE_FOR) {
            return Ok(());
        }
        Err(StoreError::unavailable("the store has not told what changed for too long"))
    }

    async fn freshen(&self) -> Result<(), StoreError> {
        self.dispatcher.freshen().await?;
        // The question in flight may have been asked before the machine fell asleep.
        if self.is_younger_than(STALE_IF_UNAVAILABLE_FOR) { Ok(()) } else { self.dispatcher.catch_up().await }
    }

    fn is_younger_than(&self, age: Duration) -> bool {
        self.progress.age().is_some_and(|current| current < age)
    }
}

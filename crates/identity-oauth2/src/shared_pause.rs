//! Pauses that the platform requested from any node.
//!
//! The platform announces a global limit to one node, but it applies to all. That node stores it, and the others poll
//! the store before a call, at most once a second. A slow store is not waited for: then each node learns of the limit
//! by itself, as it would without sharing.

use companion_domain::{
    model::Timestamp,
    port::{Clock, PlatformPause, PlatformPauses},
};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::timeout;

/// Minimum time between two polls.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Timeout for the store.
const STORE_TIMEOUT: Duration = Duration::from_millis(250);

pub(crate) struct SharedPause {
    pauses: Arc<dyn PlatformPauses>,
    clock: Arc<dyn Clock>,
    /// In monotonic time.
    last_poll: Mutex<Option<Duration>>,
}

impl SharedPause {
    pub(crate) fn new(pauses: Arc<dyn PlatformPauses>, clock: Arc<dyn Clock>) -> Self {
        Self { pauses, clock, last_poll: Mutex::default() }
    }

    /// Returns the remaining pause requested from another node. Returns `None` if there is none, or the last poll was a
    /// moment ago.
    pub(crate) async fn poll(&self) -> Option<Duration> {
        if !self.is_due() {
            return None;
        }
        let pause = timeout(STORE_TIMEOUT, self.pauses.current()).await.ok()?.ok()??;
        pause.left(self.clock.now())
    }

    /// Publishes a pause to the other nodes.
    pub(crate) async fn publish(&self, wait: Duration) {
        let said_at: Timestamp = self.clock.now();
        // On failure the other nodes learn of the limit by themselves.
        let _ = timeout(STORE_TIMEOUT, self.pauses.note(PlatformPause { said_at, wait })).await;
    }

    fn is_due(&self) -> bool {
        let now = self.clock.monotonic();
        let mut last = self.last_poll.lock().unwrap_or_else(PoisonError::into_inner);
        let due = last.is_none_or(|last| now.saturating_sub(last) >= POLL_INTERVAL);
        if due {
            *last = Some(now);
        }
        due
    }
}

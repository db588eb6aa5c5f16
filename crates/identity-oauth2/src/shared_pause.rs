//! What the platform told another node.
//!
//! A limit that holds for everything is told to one node and meant for all. So whoever is told writes it down, and before a
//! call goes out the others look whether someone was, once a second at most. A store that does not answer at once is not waited
//! for: then each node finds out for itself, as it would without it.

use companion_domain::{
    model::Timestamp,
    port::{Clock, PlatformPause, PlatformPauses},
};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::timeout;

/// How long what was seen counts.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// How long the store is waited for.
const PATIENCE: Duration = Duration::from_millis(250);

pub(crate) struct SharedPause {
    pauses: Arc<dyn PlatformPauses>,
    clock: Arc<dyn Clock>,
    /// In monotonic time.
    last_look: Mutex<Option<Duration>>,
}

impl SharedPause {
    pub(crate) fn new(pauses: Arc<dyn PlatformPauses>, clock: Arc<dyn Clock>) -> Self {
        Self { pauses, clock, last_look: Mutex::default() }
    }

    /// How long another node was told to wait from now on. Nothing where nobody was, or it was looked up a moment ago.
    pub(crate) async fn learn(&self) -> Option<Duration> {
        if !self.is_due() {
            return None;
        }
        let pause = timeout(PATIENCE, self.pauses.current()).await.ok()?.ok()??;
        pause.left(self.clock.now())
    }

    /// Tells the others how long to wait from now on.
    pub(crate) async fn tell(&self, wait: Duration) {
        let said_at: Timestamp = self.clock.now();
        // Who cannot be told finds out.
        let _ = timeout(PATIENCE, self.pauses.note(PlatformPause { said_at, wait })).await;
    }

    fn is_due(&self) -> bool {
        let now = self.clock.monotonic();
        let mut last = self.last_look.lock().unwrap_or_else(PoisonError::into_inner);
        let due = last.is_none_or(|last| now.saturating_sub(last) >= LOOK_INTERVAL);
        if due {
            *last = Some(now);
        }
        due
    }
}

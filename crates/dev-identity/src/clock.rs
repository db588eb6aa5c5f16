//! A clock that can be moved forward.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Time since the server was made, and whatever it was moved forward by.
#[derive(Debug)]
pub(crate) struct DevClock {
    started: Instant,
    forward_micros: AtomicU64,
}

impl DevClock {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), forward_micros: AtomicU64::new(0) }
    }

    pub(crate) fn now(&self) -> Duration {
        let forward = Duration::from_micros(self.forward_micros.load(Ordering::SeqCst));
        self.started.elapsed().saturating_add(forward)
    }

    pub(crate) fn forward(&self, by: Duration) {
        let micros = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
        let moved = |now: u64| Some(now.saturating_add(micros));
        let _ = self.forward_micros.fetch_update(Ordering::SeqCst, Ordering::SeqCst, moved);
    }
}

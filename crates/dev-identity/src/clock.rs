//! A clock that can be moved forward.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Time since the server was made, and whatever it was moved forward by.
#[derive(Debug)]
pub(crate) struct DevClock {
    /// Nothing where time passes only when the clock is moved.
    started: Option<Instant>,
    forward_micros: AtomicU64,
}

impl DevClock {
    pub(crate) fn new(stands_still: bool) -> Self {
        let started = if stands_still { None } else { Some(Instant::now()) };
        Self { started, forward_micros: AtomicU64::new(0) }
    }

    pub(crate) fn now(&self) -> Duration {
        let forward = Duration::from_micros(self.forward_micros.load(Ordering::SeqCst));
        self.started.map_or(Duration::ZERO, |started| started.elapsed()).saturating_add(forward)
    }

    pub(crate) fn forward(&self, by: Duration) {
        let micros = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
        let moved = |now: u64| Some(now.saturating_add(micros));
        let _ = self.forward_micros.fetch_update(Ordering::SeqCst, Ordering::SeqCst, moved);
    }
}

//! Time that stands still until it is moved.

use companion_domain::{model::Timestamp, port::Clock};
use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

/// A clock that a test holds in its hand.
#[derive(Debug)]
pub struct FixedClock(AtomicI64);

impl FixedClock {
    /// A clock that shows this time.
    #[must_use]
    pub const fn at(time: Timestamp) -> Self {
        Self(AtomicI64::new(time.micros()))
    }

    /// Moves the clock on.
    pub fn advance(&self, length: Duration) {
        self.set(self.now().after(length));
    }

    /// Sets the clock, back as well as forth.
    pub fn set(&self, time: Timestamp) {
        self.0.store(time.micros(), Ordering::SeqCst);
    }
}

impl Default for FixedClock {
    /// Noon UTC on 1 January 2026.
    fn default() -> Self {
        Self::at(Timestamp::from_micros(1_767_268_800_000_000))
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

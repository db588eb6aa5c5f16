//! A clock that advances only manually.

use companion_domain::{model::Timestamp, port::Clock};
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// A clock controlled by the test.
#[derive(Debug)]
pub struct FixedClock(Mutex<Reading>);

#[derive(Debug, Clone, Copy)]
struct Reading {
    date: Timestamp,
    passed: Duration,
}

impl FixedClock {
    /// Creates a clock that shows this date.
    #[must_use]
    pub const fn at(date: Timestamp) -> Self {
        Self(Mutex::new(Reading { date, passed: Duration::ZERO }))
    }

    /// Advances date and monotonic time.
    pub fn advance(&self, length: Duration) {
        self.change(|reading| {
            reading.date = reading.date.after(length);
            reading.passed += length;
        });
    }

    /// Sets the date, backward or forward, like a clock adjustment. Monotonic time does not change.
    pub fn set(&self, date: Timestamp) {
        self.change(|reading| reading.date = date);
    }

    fn change(&self, change: impl FnOnce(&mut Reading)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn read(&self) -> Reading {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.read().date
    }

    fn monotonic(&self) -> Duration {
        self.read().passed
    }
}

//! State shared by all workers, and the clock.

use crate::{Options, calls::Calls, fault::Faults, platform::Platform, rate_limit::RateLimits};
use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

pub(crate) struct ServerState {
    pub(crate) clock: DevClock,
    pub(crate) calls: Calls,
    pub(crate) faults: Faults,
    pub(crate) latency: Duration,
    pub(crate) descriptions: HashMap<u64, String>,
    pub(crate) command: Option<String>,
    platform: Mutex<Platform>,
    limits: Mutex<RateLimits>,
}

impl ServerState {
    pub(crate) fn new(options: Options) -> Self {
        let mut platform = Platform::new(options.code_lifetime, options.access_lifetime);
        options.clients.into_iter().for_each(|client| platform.put_client(client));
        options.users.into_iter().for_each(|account| platform.put_account(account));
        Self {
            clock: DevClock::new(options.clock_stands_still),
            calls: Calls::default(),
            faults: Faults::default(),
            latency: options.latency,
            descriptions: options.descriptions,
            command: options.command,
            limits: Mutex::new(RateLimits::new(options.rate_limit)),
            platform: Mutex::new(platform),
        }
    }

    pub(crate) fn platform(&self) -> MutexGuard<'_, Platform> {
        self.platform.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn limits(&self) -> MutexGuard<'_, RateLimits> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Time since the server was created, plus manual advances.
#[derive(Debug)]
pub(crate) struct DevClock {
    /// `None` if the clock advances only manually.
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

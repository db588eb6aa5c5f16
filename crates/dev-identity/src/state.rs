//! State shared by all workers, and the clock.

use crate::{Options, calls::Calls, fault::Faults, platform::Platform, rate_limit::RateLimits};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
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
        let started = (!options.clock_stands_still).then(Instant::now);
        Self {
            clock: DevClock { started, forward: Mutex::default() },
            platform: Mutex::new(platform),
            calls: Calls::default(),
            faults: Faults::default(),
            latency: options.latency,
            descriptions: options.descriptions,
            command: options.command,
            limits: Mutex::new(RateLimits::new(options.rate_limit)),
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
    forward: Mutex<Duration>,
}

impl DevClock {
    pub(crate) fn now(&self) -> Duration {
        let running = self.started.map_or(Duration::ZERO, |started| started.elapsed());
        running.saturating_add(*self.advanced())
    }

    pub(crate) fn forward(&self, by: Duration) {
        let mut advanced = self.advanced();
        *advanced = advanced.saturating_add(by);
    }

    fn advanced(&self) -> MutexGuard<'_, Duration> {
        self.forward.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

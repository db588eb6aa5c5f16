//! What all workers of the server share.

use crate::{
    Options, calls::Calls, clock::DevClock, fault::Faults, platform::Platform, rate_limit::RateLimits,
};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
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

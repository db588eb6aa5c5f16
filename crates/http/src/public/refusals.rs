//! How many refused codes one client may send.

use crate::{client::Client, error::ApiError};
use governor::{
    Quota, RateLimiter, clock::DefaultClock, middleware::StateInformationMiddleware,
    state::keyed::DefaultKeyedStateStore,
};
use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Once there are so many clients, those are forgotten that have nothing to be remembered for.
const MANY: usize = 10_000;

type Limiter = RateLimiter<Client, DefaultKeyedStateStore<Client>, DefaultClock, StateInformationMiddleware>;

/// Counts refused codes by client. Whoever sends good ones is never held up.
pub(super) struct Refusals {
    limiter: Limiter,
    /// How long a client waits that has used up its refusals: until it has one again.
    pause: Duration,
    held: Mutex<HashMap<Client, Instant>>,
}

impl Refusals {
    /// Allows so many refused codes a minute.
    pub(super) fn new(per_minute: NonZeroU32) -> Self {
        let quota = Quota::per_minute(per_minute);
        Self {
            limiter: RateLimiter::keyed(quota).with_middleware(),
            pause: quota.replenish_interval(),
            held: Mutex::default(),
        }
    }

    /// Turns away a client that has used up its refusals.
    pub(super) fn check(&self, client: Option<Client>) -> Result<(), ApiError> {
        let Some(client) = client else { return Ok(()) };
        let mut held = self.held();
        let Some(until) = held.get(&client) else { return Ok(()) };
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            held.remove(&client);
            return Ok(());
        }
        Err(ApiError::RateLimited(left))
    }

    /// Notes how a sign-in ended. Only a refused code counts: not the platform's failures, nor ours.
    pub(super) fn note(&self, client: Option<Client>, error: &ApiError) {
        if let (Some(client), ApiError::IdpCodeInvalid) = (client, error) {
            self.count(client);
        }
    }

    fn count(&self, client: Client) {
        let used_up = match self.limiter.check_key(&client) {
            Ok(left) => left.remaining_burst_capacity() == 0,
            Err(_) => true,
        };
        if used_up {
            let mut held = self.held();
            if held.len() >= MANY {
                let now = Instant::now();
                held.retain(|_, until| *until > now);
            }
            held.insert(client, Instant::now() + self.pause);
        }
        if self.limiter.len() >= MANY {
            self.limiter.retain_recent();
        }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Client, Instant>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

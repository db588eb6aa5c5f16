//! Limits live pages: in total, per address and per user.

use companion_domain::model::UserId;
use companion_http::{ApiError, Client};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// `Retry-After` of refused streams.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// What a stream is counted against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LimitKey {
    /// All streams of the listener.
    Total,
    /// The streams of one client address.
    Address(Client),
    /// The streams of one user over all sessions, because another session costs only a sign-in.
    User(UserId),
}

impl LimitKey {
    /// Returns the limit. An address may be shared by a whole office. A user needs one stream per window: hidden tabs
    /// have none.
    const fn limit(self) -> usize {
        match self {
            Self::Total => 1000,
            Self::Address(_) => 100,
            Self::User(_) => 16,
        }
    }
}

/// The number of open streams by key.
#[derive(Debug, Default)]
pub(crate) struct StreamLimiter(Mutex<HashMap<LimitKey, usize>>);

impl StreamLimiter {
    /// Counts a stream against this key until the result is dropped. Returns [`ApiError::Overloaded`] at the limit.
    pub(crate) fn acquire(self: &Arc<Self>, key: LimitKey) -> Result<StreamPermit, ApiError> {
        let mut open = self.open();
        let count = open.get(&key).copied().unwrap_or_default();
        if count >= key.limit() {
            return Err(ApiError::Overloaded(RETRY_AFTER));
        }
        open.insert(key, count + 1);
        Ok(StreamPermit { limiter: Arc::clone(self), key })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<LimitKey, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A counted stream, released on drop.
#[derive(Debug)]
pub(crate) struct StreamPermit {
    limiter: Arc<StreamLimiter>,
    key: LimitKey,
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut open = self.limiter.open();
        match open.get_mut(&self.key) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) | None => drop(open.remove(&self.key)),
        }
    }
}

//! Limits live pages: in total, per address and per user.

use companion_domain::model::UserId;
use companion_http::{ApiError, Client};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
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

/// The open streams by key: each holds a clone of the value.
#[derive(Debug, Default)]
pub(crate) struct StreamLimiter(Mutex<HashMap<LimitKey, StreamPermit>>);

/// Counts a stream until it is dropped.
pub(crate) type StreamPermit = Arc<()>;

impl StreamLimiter {
    /// Counts a stream against this key. Returns [`ApiError::Overloaded`] at the limit.
    pub(crate) fn acquire(&self, key: LimitKey) -> Result<StreamPermit, ApiError> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, streams| Arc::strong_count(streams) > 1);
        let streams = open.entry(key).or_default();
        // One of them is the value itself.
        if Arc::strong_count(streams) > key.limit() {
            return Err(ApiError::Overloaded(RETRY_AFTER));
        }
        Ok(Arc::clone(streams))
    }
}

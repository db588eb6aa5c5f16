//! Limits live pages: in total, per address and per user.

use companion_domain::model::UserId;
use companion_http::{ApiError, Client};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// `Retry-After` of refused streams.
const TRY_AGAIN: Duration = Duration::from_secs(30);

/// What a stream is counted against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Share {
    /// All streams of the listener.
    Total,
    /// The streams of one client address.
    Address(Client),
    /// The streams of one user over all sessions, because another session costs only a sign-in.
    User(UserId),
}

impl Share {
    /// Returns the limit. An address may be shared by a whole office. A user needs one stream per window: hidden tabs
    /// have none.
    const fn places(self) -> usize {
        match self {
            Self::Total => 1000,
            Self::Address(_) => 100,
            Self::User(_) => 16,
        }
    }
}

/// The number of open streams by share.
#[derive(Debug, Default)]
pub(crate) struct Places(Mutex<HashMap<Share, usize>>);

impl Places {
    /// Counts a stream against this share until the result is dropped. Returns [`ApiError::Overloaded`] at the limit.
    pub(crate) fn take(self: &Arc<Self>, share: Share) -> Result<Place, ApiError> {
        let mut taken = self.taken();
        let count = taken.get(&share).copied().unwrap_or_default();
        if count >= share.places() {
            return Err(ApiError::Overloaded(TRY_AGAIN));
        }
        taken.insert(share, count + 1);
        Ok(Place { places: Arc::clone(self), share })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<Share, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A counted stream, released on drop.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    share: Share,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        match taken.get_mut(&self.share) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) | None => drop(taken.remove(&self.share)),
        }
    }
}

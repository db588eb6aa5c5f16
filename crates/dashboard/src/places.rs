//! How many pages can be live at once: in total, for one address and for one user.

use companion_domain::model::UserId;
use companion_http::{ApiError, Client};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// When a refused client may try again.
const TRY_AGAIN: Duration = Duration::from_secs(30);

/// What a place is counted against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Share {
    /// All streams of the listener.
    Total,
    /// The streams of one client address.
    Address(Client),
    /// The streams of one user, over all of their sessions: a session costs only a sign-in.
    User(UserId),
}

impl Share {
    /// How many places it has. An address may stand for a whole office. A user needs one place for each window: hidden tabs
    /// have no stream.
    const fn places(self) -> usize {
        match self {
            Self::Total => 1000,
            Self::Address(_) => 100,
            Self::User(_) => 16,
        }
    }
}

/// The places that are taken, by share.
#[derive(Debug, Default)]
pub(crate) struct Places(Mutex<HashMap<Share, usize>>);

impl Places {
    /// Takes a place of this share until the result is dropped.
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

/// A place that is taken.
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

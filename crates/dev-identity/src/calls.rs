//! How often each route was called.

use crate::Route;
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(crate) struct Calls {
    counts: Mutex<BTreeMap<Route, u64>>,
    counted: Notify,
}

impl Calls {
    pub(crate) fn count(&self, route: Route) {
        *self.counts().entry(route).or_default() += 1;
        self.counted.notify_waiters();
    }

    pub(crate) fn of(&self, route: Route) -> u64 {
        self.counts().get(&route).copied().unwrap_or(0)
    }

    pub(crate) fn all(&self) -> BTreeMap<Route, u64> {
        Route::ALL.map(|route| (route, self.of(route))).into()
    }

    /// Returns when the route was called this often.
    pub(crate) async fn reached(&self, route: Route, times: u64) {
        loop {
            // Listening begins before looking, so that no call slips through in between.
            let mut counted = std::pin::pin!(self.counted.notified());
            counted.as_mut().enable();
            if self.of(route) >= times {
                return;
            }
            counted.await;
        }
    }

    fn counts(&self) -> MutexGuard<'_, BTreeMap<Route, u64>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

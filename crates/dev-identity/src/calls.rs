//! Counts of calls by route and user, and of responses by status.

use crate::Route;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

/// Calls made with a user's tokens, valid or expired.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UserCalls {
    /// Requests for pages of guilds.
    pub guilds: u64,
    /// Refresh tokens sent for exchange.
    pub renewals: u64,
    /// The maximum number of both in flight at the same time.
    pub most_at_once: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Calls {
    counts: Mutex<CallCounts>,
    counted: Notify,
}

#[derive(Debug, Default)]
pub(crate) struct CallCounts {
    routes: BTreeMap<Route, u64>,
    pub(crate) answers: BTreeMap<(Route, u16), u64>,
    users: HashMap<u64, UserActivity>,
    pub(crate) connections: u64,
    held: BTreeMap<Route, u64>,
}

#[derive(Debug, Default)]
struct UserActivity {
    calls: UserCalls,
    in_flight: usize,
}

impl Calls {
    pub(crate) fn count(&self, route: Route) {
        *self.counts().routes.entry(route).or_default() += 1;
        self.counted.notify_waiters();
    }

    pub(crate) fn count_answer(&self, route: Route, status: u16) {
        *self.counts().answers.entry((route, status)).or_default() += 1;
        self.counted.notify_waiters();
    }

    /// Counts a call on behalf of a user. It is in flight until the returned guard is dropped.
    pub(crate) fn begin(&self, user: u64, route: Route) -> InFlightCall<'_> {
        let mut counts = self.counts();
        let activity = counts.users.entry(user).or_default();
        match route {
            Route::Guilds => activity.calls.guilds += 1,
            Route::Token => activity.calls.renewals += 1,
            Route::Revoke | Route::User => {}
        }
        activity.in_flight += 1;
        activity.calls.most_at_once = activity.calls.most_at_once.max(activity.in_flight);
        InFlightCall { calls: self, user }
    }

    pub(crate) fn of(&self, route: Route) -> u64 {
        self.counts().routes.get(&route).copied().unwrap_or(0)
    }

    pub(crate) fn of_user(&self, user: u64) -> UserCalls {
        self.counts().users.get(&user).map(|activity| activity.calls).unwrap_or_default()
    }

    /// Waits until the route has been called this often.
    pub(crate) async fn reached(&self, route: Route, times: u64) {
        self.until(|| self.of(route) >= times).await;
    }

    /// Waits until the route has responded this often, with any status.
    pub(crate) async fn answered(&self, route: Route, times: u64) {
        let answers = |counts: &CallCounts| -> u64 {
            let of_route = counts.answers.iter().filter(|((answered, _), _)| *answered == route);
            of_route.map(|(_, count)| count).sum()
        };
        self.until(|| answers(&self.counts()) >= times).await;
    }

    /// Blocks calls of this route until `release` is called as often.
    pub(crate) fn hold(&self, route: Route) {
        *self.counts().held.entry(route).or_default() += 1;
    }

    pub(crate) fn release(&self, route: Route) {
        if let Some(holds) = self.counts().held.get_mut(&route) {
            *holds = holds.saturating_sub(1);
        }
        self.counted.notify_waiters();
    }

    /// Waits until the route is not held.
    pub(crate) async fn released(&self, route: Route) {
        self.until(|| self.counts().held.get(&route).is_none_or(|holds| *holds == 0)).await;
    }

    async fn until(&self, reached: impl Fn() -> bool) {
        loop {
            // Register before checking, so that no notification is missed.
            let mut counted = std::pin::pin!(self.counted.notified());
            counted.as_mut().enable();
            if reached() {
                return;
            }
            counted.await;
        }
    }

    pub(crate) fn counts(&self) -> MutexGuard<'_, CallCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call in flight, until dropped.
pub(crate) struct InFlightCall<'a> {
    calls: &'a Calls,
    user: u64,
}

impl Drop for InFlightCall<'_> {
    fn drop(&mut self) {
        if let Some(activity) = self.calls.counts().users.get_mut(&self.user) {
            activity.in_flight = activity.in_flight.saturating_sub(1);
        }
    }
}

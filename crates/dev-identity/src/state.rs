//! What all workers share: the platform, its clock, planned faults and counted calls.

use crate::{Options, Route, fault::Faults, platform::Platform, rate_limit::RateLimits};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
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

pub(crate) struct ServerState {
    pub(crate) latency: Duration,
    pub(crate) descriptions: HashMap<u64, String>,
    pub(crate) command: Option<String>,
    world: Mutex<World>,
    /// Wakes those that wait for a count or a release.
    changed: Notify,
}

/// What requests and [`Control`](crate::Control) change.
pub(crate) struct World {
    pub(crate) platform: Platform,
    pub(crate) limits: RateLimits,
    pub(crate) faults: Faults,
    pub(crate) calls: Calls,
    /// `None` if the clock advances only manually.
    started: Option<Instant>,
    pub(crate) advanced: Duration,
}

impl World {
    /// Returns the time since the server was created, plus manual advances.
    pub(crate) fn now(&self) -> Duration {
        let running = self.started.map_or(Duration::ZERO, |started| started.elapsed());
        running.saturating_add(self.advanced)
    }
}

/// Counts of calls by route and user, and of responses by status.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(crate) of_routes: BTreeMap<Route, u64>,
    pub(crate) answers: BTreeMap<(Route, u16), u64>,
    /// The calls of each user, and how many of them are in flight.
    pub(crate) of_users: HashMap<u64, (UserCalls, usize)>,
    pub(crate) connections: u64,
    /// How often each route is held.
    pub(crate) held: BTreeMap<Route, u64>,
}

impl Calls {
    /// Returns how often a route was called.
    pub(crate) fn of(&self, route: Route) -> u64 {
        self.of_routes.get(&route).copied().unwrap_or(0)
    }
}

impl ServerState {
    pub(crate) fn new(options: Options) -> Self {
        let mut platform = Platform::new(options.code_lifetime, options.access_lifetime);
        options.clients.into_iter().for_each(|client| platform.put_client(client));
        options.users.into_iter().for_each(|account| platform.put_account(account));
        let world = World {
            platform,
            limits: RateLimits::new(options.rate_limit),
            faults: Faults::default(),
            calls: Calls::default(),
            started: (!options.clock_stands_still).then(Instant::now),
            advanced: Duration::ZERO,
        };
        Self {
            latency: options.latency,
            descriptions: options.descriptions,
            command: options.command,
            world: Mutex::new(world),
            changed: Notify::new(),
        }
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the counts, and wakes those that wait for one.
    pub(crate) fn count(&self, change: impl FnOnce(&mut Calls)) {
        change(&mut self.world().calls);
        self.changed.notify_waiters();
    }

    /// Waits until the counts are like this.
    pub(crate) async fn until(&self, reached: impl Fn(&Calls) -> bool) {
        loop {
            // Register before checking, so that no notification is missed.
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if reached(&self.world().calls) {
                return;
            }
            changed.await;
        }
    }

    /// Counts a call with this token, valid or expired, if a user has it. It is in flight until the returned guard is
    /// dropped.
    pub(crate) fn begin(&self, token: &str, route: Route) -> Option<InFlightCall<'_>> {
        let mut world = self.world();
        let user = world.platform.grants.find(token)?.grant.user;
        let (calls, in_flight) = world.calls.of_users.entry(user).or_default();
        match route {
            Route::Guilds => calls.guilds += 1,
            Route::Token => calls.renewals += 1,
            Route::Revoke | Route::User => {}
        }
        *in_flight += 1;
        calls.most_at_once = calls.most_at_once.max(*in_flight);
        Some(InFlightCall { state: self, user })
    }
}

/// A call in flight, until dropped.
pub(crate) struct InFlightCall<'a> {
    state: &'a ServerState,
    user: u64,
}

impl Drop for InFlightCall<'_> {
    fn drop(&mut self) {
        if let Some((_, in_flight)) = self.state.world().calls.of_users.get_mut(&self.user) {
            *in_flight = in_flight.saturating_sub(1);
        }
    }
}

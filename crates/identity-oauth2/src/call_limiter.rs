//! Decides whether a call may be sent, and learns from its response.

use crate::{
    Route, RouteStatistics, Statistics,
    breaker::{BreakerPermit, CircuitBreaker, Observation},
    budget::{Budget, make_room},
    client::{Answer, HttpClient, Request, counts_as_refused, limited, unexpected},
    limits::{KnownLimits, LimitNotice, Scope, SharedPause, TokenFingerprint},
    settings::{Limits, Settings},
};
use companion_domain::{
    model::{Timestamp, UserId},
    port::{ClientMark, Clock, IdentityError, IdentityErrorKind, PlatformPauses, Reputation},
};
use http::StatusCode;
use serde::de::IgnoredAny;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};

/// Retry delay if too many calls are in flight.
const FULL_RETRY_AFTER: Duration = Duration::from_secs(1);

/// For whom a call is made, as far as known, and so who is charged if the platform refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Principal {
    /// For this service: a refusal concerns all of its calls.
    Ourselves,
    /// For a client that is signing in. The call itself returns who it is.
    Client(ClientMark),
    /// For a client that is signing in. A concurrent call is about to return who it is.
    Arriving(ClientMark),
    /// For a user.
    User(UserId),
}

/// A call that is about to be made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) route: Route,
    /// For whom the call is made.
    pub(crate) principal: Principal,
    /// The access token of the call, if it has one.
    pub(crate) token: Option<TokenFingerprint>,
    /// The standing of the client whose code is sent, if one is. The number of bad codes is limited.
    pub(crate) code: Option<Reputation>,
}

impl Call {
    /// Returns who is charged for a refusal. On the token routes a refusal concerns our own credentials.
    const fn payer(self) -> Principal {
        match self.route {
            Route::Token | Route::Revoke => Principal::Ourselves,
            Route::User | Route::Guilds => self.principal,
        }
    }

    /// Returns whether the call is made before its user is known.
    const fn is_early(self) -> bool {
        matches!(self.principal, Principal::Arriving(_))
    }
}

pub(crate) struct CallLimiter {
    client: HttpClient,
    clock: Arc<dyn Clock>,
    slot_timeout: Duration,
    state: Mutex<LimiterState>,
    /// The pause requested from other nodes.
    shared: SharedPause,
}

struct LimiterState {
    settings: Limits,
    limits: KnownLimits,
    routes: BTreeMap<Route, RouteState>,
    /// Small budgets of the users with refusals. A user who has exhausted theirs waits; other users are not affected.
    user_budgets: HashMap<UserId, Budget>,
    refused: Budget,
    refused_total: Budget,
    refused_early: Budget,
    bad_codes: Budget,
}

/// What each route has of its own.
struct RouteState {
    breaker: CircuitBreaker,
    counts: RouteStatistics,
    slots: Arc<Semaphore>,
    /// Limits the number of calls that wait for a slot.
    waiters: Arc<Semaphore>,
}

impl CallLimiter {
    pub(crate) fn new(
        settings: &Settings,
        client: HttpClient,
        clock: Arc<dyn Clock>,
        pauses: Arc<dyn PlatformPauses>,
    ) -> Self {
        let limits = settings.limits;
        Self {
            client,
            shared: SharedPause::new(pauses, Arc::clone(&clock)),
            clock,
            slot_timeout: settings.deadlines.slot,
            state: Mutex::new(LimiterState {
                settings: limits,
                limits: KnownLimits::default(),
                routes: BTreeMap::new(),
                user_budgets: HashMap::new(),
                refused: Budget::new(limits.refused),
                refused_total: Budget::new(limits.refused_total),
                refused_early: Budget::new(limits.refused_early),
                bad_codes: Budget::new(limits.bad_codes),
            }),
        }
    }

    /// Admits the call, or returns how long to wait. It waits only for a full bulkhead; every other rejection is
    /// immediate. The call must be over by `until`.
    pub(crate) async fn acquire(&self, call: Call, until: Instant) -> Result<Permit<'_>, IdentityError> {
        let acquired = self.acquire_slot(call, until).await;
        acquired.inspect_err(|error| self.count_rejected(call.route, error))
    }

    /// Returns whether the call would be admitted now, without waiting for the bulkhead.
    pub(crate) fn would_admit(&self, call: Call) -> Result<(), IdentityError> {
        let checked = self.state().check(call, self.now()).map(drop);
        checked.inspect_err(|error| self.count_rejected(call.route, error))
    }

    /// Returns whether a call may be made for a user who is not known yet.
    pub(crate) fn may_ask_early(&self) -> bool {
        self.state().refused_early.exhausted_for(self.now()).is_none()
    }

    fn count_rejected(&self, route: Route, error: &IdentityError) {
        self.state().route(route).counts.count(Err(error.kind));
    }

    async fn acquire_slot(&self, call: Call, until: Instant) -> Result<Permit<'_>, IdentityError> {
        if let Some(wait) = self.shared.poll().await {
            self.state().limits.pause(wait, self.now());
        }
        let (slots, waiters) = {
            let mut state = self.state();
            let RouteState { slots, waiters, .. } = state.check(call, self.now())?;
            (Arc::clone(slots), Arc::clone(waiters))
        };
        let full = || limited("too many calls are in flight", FULL_RETRY_AFTER);
        let slot = match Arc::clone(&slots).try_acquire_owned() {
            Ok(slot) => slot,
            Err(_) => {
                // As many calls may wait as may be in flight. More would only be rejected later.
                let _waiter = waiters.try_acquire().map_err(|_| full())?;
                let slot = timeout(self.slot_timeout, slots.acquire_owned()).await;
                slot.map_err(|_| full())?.map_err(|_| full())?
            }
        };
        let breaker_permit = self.state().admit(call, self.now())?;
        Ok(Permit {
            limiter: self,
            call,
            until,
            is_early: call.is_early(),
            breaker_permit,
            response: OnceLock::new(),
            outcome: None,
            slot: Some(slot),
        })
    }

    pub(crate) fn statistics(&self, unreadable_guilds: u64) -> Statistics {
        let now = self.now();
        let mut state = self.state();
        Statistics {
            refused_responses: state.refused_total.spent(now),
            refused_responses_left: state.refused_total.left(now),
            bad_codes: state.bad_codes.spent(now),
            bad_codes_left: state.bad_codes.left(now),
            unreadable_guilds,
            routes: Route::ALL.map(|route| {
                let RouteState { breaker, counts, .. } = state.route(route);
                (route, RouteStatistics { breaker: breaker.state(), ..*counts })
            }),
        }
    }

    /// Returns the time base of limits, budgets and breakers. It is monotonic, so that setting the clock does not
    /// affect them.
    fn now(&self) -> Timestamp {
        Timestamp::EPOCH.after(self.clock.monotonic())
    }

    fn state(&self) -> MutexGuard<'_, LimiterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LimiterState {
    fn route(&mut self, route: Route) -> &mut RouteState {
        let Limits { breaker, max_concurrent_calls, .. } = self.settings;
        self.routes.entry(route).or_insert_with(|| RouteState {
            breaker: CircuitBreaker::new(breaker),
            counts: RouteStatistics::default(),
            slots: Arc::new(Semaphore::new(max_concurrent_calls)),
            waiters: Arc::new(Semaphore::new(max_concurrent_calls)),
        })
    }

    /// Returns the route of the call if it would be admitted now.
    fn check(&mut self, call: Call, now: Timestamp) -> Result<&mut RouteState, IdentityError> {
        let Call { route, token, code, .. } = call;
        let charged = match call.payer() {
            Principal::Ourselves => self.refused.exhausted_for(now),
            // Early calls were decided before, and their caller already depends on them.
            Principal::Client(_) | Principal::Arriving(_) => None,
            Principal::User(user) => {
                self.user_budgets.get_mut(&user).and_then(|budget| budget.exhausted_for(now))
            }
        };
        let kept = code.map(|standing| match standing {
            Reputation::Good => 0,
            Reputation::Doubtful => self.settings.reserved_codes,
        });
        let waits = [
            ("the platform asked to wait", self.limits.left(route, token, now)),
            ("too many refusals of this user or of our credentials", charged),
            ("too many refusals in total", self.refused_total.exhausted_for(now)),
            ("too many bad codes", kept.and_then(|kept| self.bad_codes.exhausted_but_for(kept, now))),
            ("the platform keeps failing", self.route(route).breaker.blocked_for(now)),
        ];
        let first = waits.into_iter().find_map(|(reason, wait)| Some(limited(reason, wait?)));
        match first {
            Some(error) => Err(error),
            None => Ok(self.route(route)),
        }
    }

    fn admit(&mut self, call: Call, now: Timestamp) -> Result<BreakerPermit, IdentityError> {
        let route = self.check(call, now)?;
        let breaker_permit = route.breaker.admit(now);
        let breaker_permit = breaker_permit.map_err(|wait| limited("the platform keeps failing", wait))?;
        route.counts.sent += 1;
        // The budgets were checked a moment ago, under the same lock.
        self.refused_total.reserve();
        if let Principal::Ourselves = call.payer() {
            self.refused.reserve();
        }
        if call.is_early() {
            self.refused_early.reserve();
        }
        if call.code.is_some() {
            self.bad_codes.reserve();
        }
        Ok(breaker_permit)
    }

    fn settle(&mut self, permit: &Permit<'_>, now: Timestamp) {
        let (Call { route, code, .. }, outcome) = (permit.call, permit.outcome);
        let response = permit.response.get().copied();
        let status = response.map(|response| response.status);
        // A list cancelled because its user was refused would have been refused as well.
        let cancelled_early = permit.is_early && outcome.is_none() && response.is_none();
        let refused = cancelled_early || status.is_some_and(counts_as_refused);
        self.refused_total.settle(refused, now);
        if permit.is_early {
            self.refused_early.settle(refused, now);
        }
        match permit.call.payer() {
            Principal::Ourselves => self.refused.settle(refused, now),
            Principal::User(user) if refused => {
                make_room(&mut self.user_budgets, &user, |budget| budget.spent(now) > 0);
                let new = || Budget::new(self.settings.refused_per_user);
                self.user_budgets.entry(user).or_insert_with(new).spend(now);
            }
            Principal::User(_) | Principal::Client(_) | Principal::Arriving(_) => {}
        }
        if code.is_some() {
            // The outcome of a cancelled exchange is unknown, so it counts as a bad code.
            let bad =
                outcome.is_none() || (status.is_some_and(|status| status.is_client_error()) && !refused);
            self.bad_codes.settle(bad, now);
        }
        match outcome {
            None => self.route(route).breaker.cancel(permit.breaker_permit),
            Some(outcome) => {
                let observation = observation(permit.call.principal, outcome, response);
                let state = self.route(route);
                state.counts.count(outcome);
                state.breaker.record(permit.breaker_permit, observation, now);
                if response.is_some_and(|response| response.is_ban) {
                    // A ban applies to all routes.
                    for other in Route::ALL.into_iter().filter(|other| *other != route) {
                        let breaker = &mut self.route(other).breaker;
                        breaker.record(BreakerPermit::Regular, Observation::Failing, now);
                    }
                }
            }
        }
    }
}

/// What a response reveals about the platform.
#[derive(Debug, Clone, Copy)]
struct Response {
    status: StatusCode,
    /// Whether it refuses with a page instead of JSON, and so comes from a proxy in front of the platform.
    is_ban: bool,
}

impl Response {
    fn of(answer: &Answer) -> Self {
        let status = answer.status();
        let is_json = || serde_json::from_slice::<IgnoredAny>(answer.body()).is_ok();
        Self { status, is_ban: status == StatusCode::FORBIDDEN && !is_json() }
    }
}

/// Returns what an outcome reveals about the platform. A proper refusal means that it is up. A refusal or an invalid
/// response for one user says nothing about the others.
fn observation(
    principal: Principal,
    outcome: Result<(), IdentityErrorKind>,
    response: Option<Response>,
) -> Observation {
    let refused = match principal {
        Principal::Ourselves => Observation::Failing,
        principal @ (Principal::Client(_) | Principal::Arriving(_) | Principal::User(_)) => {
            Observation::RefusedFor(principal)
        }
    };
    match outcome {
        Ok(()) | Err(IdentityErrorKind::BadGrant | IdentityErrorKind::ScopeMissing) => Observation::Alive,
        Err(IdentityErrorKind::TokenRefused) => refused,
        Err(IdentityErrorKind::Unreachable | IdentityErrorKind::TimedOut) => Observation::Failing,
        Err(IdentityErrorKind::Limited(_) | IdentityErrorKind::Failed) => match response {
            Some(Response { is_ban: true, .. }) => Observation::Failing,
            Some(Response { status: StatusCode::FORBIDDEN, .. }) => refused,
            Some(Response { status, .. }) if status.is_success() => refused,
            Some(Response { status, .. }) if status.is_client_error() => Observation::Alive,
            Some(_) | None => Observation::Failing,
        },
    }
}

/// The permit for one call. Dropping it without settling means that the call was cancelled.
pub(crate) struct Permit<'a> {
    limiter: &'a CallLimiter,
    call: Call,
    until: Instant,
    /// Whether the call was sent before its user was known. It stays set once the user is known.
    is_early: bool,
    breaker_permit: BreakerPermit,
    response: OnceLock<Response>,
    /// `None` until the call is settled.
    outcome: Option<Result<(), IdentityErrorKind>>,
    slot: Option<OwnedSemaphorePermit>,
}

impl Permit<'_> {
    /// Sends the request. Returns responses that answer it: success, or a refusal. Everything else is an error.
    pub(crate) async fn send(&self, request: Request) -> Result<Answer, IdentityError> {
        let answer = self.limiter.client.send(request, self.until).await?;
        let status = answer.status();
        let _ = self.response.set(Response::of(&answer));
        let notice = LimitNotice::read(status, answer.headers(), answer.body());
        if let Some(notice) = notice {
            let Call { route, token, .. } = self.call;
            let now = self.limiter.now();
            self.limiter.state().limits.remember(route, token, notice, now);
            if notice.scope == Scope::Global {
                self.limiter.shared.publish(notice.wait).await;
            }
        }
        if let Some(notice) = notice.filter(|_| status == StatusCode::TOO_MANY_REQUESTS) {
            return Err(limited("the platform asks to wait", notice.wait));
        }
        let meant_for_us =
            status.is_success() || (status.is_client_error() && status != StatusCode::FORBIDDEN);
        if meant_for_us { Ok(answer) } else { Err(unexpected(status)) }
    }

    /// Releases the slot, while the outcome is still to be recorded.
    pub(crate) fn release_slot(&mut self) {
        self.slot = None;
    }

    /// Sets the user that the call was made for, once known.
    pub(crate) fn set_user(&mut self, user: UserId) {
        self.call.principal = Principal::User(user);
    }

    /// Records the outcome of the call, and returns it.
    pub(crate) fn settle<T>(mut self, result: Result<T, IdentityError>) -> Result<T, IdentityError> {
        self.outcome = Some(result.as_ref().map(|_| ()).map_err(|error| error.kind));
        result
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let now = self.limiter.now();
        self.limiter.state().settle(self, now);
    }
}

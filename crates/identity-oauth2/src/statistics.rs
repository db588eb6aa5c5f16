//! Counters of calls and their outcomes.

use crate::{BreakerState, Route, route::PerRoute};
use companion_domain::port::IdentityErrorKind;

/// Counters of one route since the provider was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteStatistics {
    /// Calls that were sent.
    pub sent: u64,
    /// Calls that succeeded.
    pub succeeded: u64,
    /// Codes and tokens that the platform refused, and codes with missing scopes.
    pub refused: u64,
    /// Calls that were not sent, or were rate-limited.
    pub limited: u64,
    /// Calls that found the platform unreachable.
    pub unreachable: u64,
    /// Calls that timed out.
    pub timed_out: u64,
    /// Calls with an error or an invalid response.
    pub failed: u64,
    /// State of the circuit breaker.
    pub breaker: BreakerState,
}

/// Counters since the provider was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statistics {
    /// Counters by route.
    pub routes: [(Route, RouteStatistics); 4],
    /// Responses of 401, 403 and 429 in the current window.
    pub refused_responses: usize,
    /// Number of further such responses before no call is sent.
    pub refused_responses_left: usize,
    /// Refused codes in the current window.
    pub bad_codes: usize,
    /// Number of further refused codes before no code is exchanged.
    pub bad_codes_left: usize,
    /// Rows of guild lists that were skipped because they were unreadable.
    pub unreadable_guilds: u64,
}

impl Statistics {
    /// Returns the counters of a route.
    #[must_use]
    pub fn of(&self, route: Route) -> RouteStatistics {
        let [token, revoke, user, guilds] = &self.routes;
        match route {
            Route::Token => token.1,
            Route::Revoke => revoke.1,
            Route::User => user.1,
            Route::Guilds => guilds.1,
        }
    }
}

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct RouteCounts {
    sent: u64,
    succeeded: u64,
    refused: u64,
    limited: u64,
    unreachable: u64,
    timed_out: u64,
    failed: u64,
}

impl RouteCounts {
    pub(crate) const fn count_sent(&mut self) {
        self.sent += 1;
    }

    pub(crate) const fn count(&mut self, outcome: Result<(), IdentityErrorKind>) {
        *match outcome {
            Ok(()) => &mut self.succeeded,
            Err(
                IdentityErrorKind::BadGrant
                | IdentityErrorKind::ScopeMissing
                | IdentityErrorKind::TokenRefused,
            ) => &mut self.refused,
            Err(IdentityErrorKind::Limited(_)) => &mut self.limited,
            Err(IdentityErrorKind::Unreachable) => &mut self.unreachable,
            Err(IdentityErrorKind::TimedOut) => &mut self.timed_out,
            Err(IdentityErrorKind::Failed) => &mut self.failed,
        } += 1;
    }

    const fn with_breaker(self, breaker: BreakerState) -> RouteStatistics {
        RouteStatistics {
            sent: self.sent,
            succeeded: self.succeeded,
            refused: self.refused,
            limited: self.limited,
            unreachable: self.unreachable,
            timed_out: self.timed_out,
            failed: self.failed,
            breaker,
        }
    }
}

impl PerRoute<RouteCounts> {
    pub(crate) fn with_breakers(
        &self,
        breaker: impl Fn(Route) -> BreakerState,
    ) -> [(Route, RouteStatistics); 4] {
        Route::ALL.map(|route| (route, self.of(route).with_breaker(breaker(route))))
    }
}

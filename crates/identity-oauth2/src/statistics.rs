//! Plain numbers about what went out and what came back.

use crate::{BreakerState, Route, route::PerRoute};
use companion_domain::port::IdentityErrorKind;

/// What happened on one route since the provider was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteStatistics {
    /// Calls that went out.
    pub sent: u64,
    /// Calls that brought what was asked for.
    pub succeeded: u64,
    /// Codes and tokens that the platform refused, and codes that grant too little.
    pub refused: u64,
    /// Calls that did not go out, or were told to wait.
    pub limited: u64,
    /// Calls that found nobody.
    pub unreachable: u64,
    /// Calls that took too long.
    pub timed_out: u64,
    /// Calls that brought an error or nonsense.
    pub failed: u64,
    /// How the breaker stands.
    pub breaker: BreakerState,
}

/// What happened since the provider was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statistics {
    /// By route.
    pub routes: [(Route, RouteStatistics); 4],
    /// Answers of 401, 403 and 429 that count now.
    pub refused_answers: usize,
    /// How many more of these there may be before no call goes out.
    pub refused_answers_left: usize,
    /// Refused codes that count now.
    pub bad_codes: usize,
    /// How many more of these there may be before no code is exchanged.
    pub bad_codes_left: usize,
    /// Rows in lists of guilds that were left out because they could not be read.
    pub unreadable_guilds: u64,
}

impl Statistics {
    /// What happened on a route.
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

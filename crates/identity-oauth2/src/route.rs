//! The routes of the platform, each with its own limits, and counters of calls and their outcomes.

use crate::BreakerState;
use companion_domain::port::IdentityErrorKind;

/// A route of the platform with its own limits, circuit breaker and counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Route {
    /// Exchanges codes and refresh tokens for tokens.
    Token,
    /// Revokes an authorisation.
    Revoke,
    /// Returns the user of a token.
    User,
    /// Returns a page of that user's guilds.
    Guilds,
}

impl Route {
    /// All routes.
    pub const ALL: [Self; 4] = [Self::Token, Self::Revoke, Self::User, Self::Guilds];

    /// Returns its name, for metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Revoke => "revoke",
            Self::User => "user",
            Self::Guilds => "guilds",
        }
    }
}

/// Counters of one route since the provider was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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

impl RouteStatistics {
    /// Counts the outcome of a call.
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
}

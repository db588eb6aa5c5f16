//! The platform's rate limits: how they are read from a response, when they end, and how nodes share pauses.

use crate::{Route, budget::make_room};
use companion_domain::{
    model::Timestamp,
    port::{Clock, PlatformPause, PlatformPauses},
};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::timeout;

/// Wait if the platform limits calls without saying for how long.
const DEFAULT_WAIT: Duration = Duration::from_secs(60);
/// Upper bound of a wait. After a day, one more call does no harm.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// A hash that stands for a token, so that no token is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TokenFingerprint(pub(crate) u64);

/// The scope of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The route, for the token that was sent.
    Token,
    /// The route, for every caller.
    Route,
    /// All routes.
    Global,
}

/// A limit announced by a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LimitNotice {
    pub(crate) scope: Scope,
    pub(crate) wait: Duration,
}

impl LimitNotice {
    /// Reads a response. A bucket that was just emptied counts as well, because the next call would be limited.
    pub(crate) fn read(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Option<Self> {
        let retry_after = seconds(headers, "retry-after");
        let reset_after = seconds(headers, "x-ratelimit-reset-after");
        if status == StatusCode::TOO_MANY_REQUESTS {
            let parsed = serde_json::from_slice::<RateLimitBody>(body).ok();
            let in_body = parsed.as_ref().and_then(|body| length(body.retry_after));
            let global = headers.contains_key("x-ratelimit-global")
                || headers.get("x-ratelimit-scope").is_some_and(|scope| scope == "global");
            // A page instead of JSON comes from a proxy in front of the platform: it means a ban, which applies to all
            // routes.
            let global = global || parsed.is_none_or(|body| body.global);
            let wait = retry_after.max(in_body).or(reset_after).unwrap_or(DEFAULT_WAIT);
            return Some(Self {
                scope: if global { Scope::Global } else { Scope::Token },
                wait: wait.min(MAX_WAIT),
            });
        }
        if status.is_server_error() {
            let wait = retry_after?.min(MAX_WAIT);
            return Some(Self { scope: Scope::Route, wait });
        }
        let used_up = headers.get("x-ratelimit-remaining").is_some_and(|left| left == "0");
        let wait = reset_after.filter(|_| used_up)?.min(MAX_WAIT);
        Some(Self { scope: Scope::Token, wait })
    }
}

/// The JSON body of a 429 response.
#[derive(Deserialize)]
struct RateLimitBody {
    retry_after: f64,
    #[serde(default)]
    global: bool,
}

fn seconds(headers: &HeaderMap, name: &str) -> Option<Duration> {
    length(headers.get(name)?.to_str().ok()?.trim().parse().ok()?)
}

/// Ignores invalid durations, such as negative or infinite ones.
fn length(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

/// Returns the time from now until then, or `None` if it has passed.
pub(crate) fn left(until: Timestamp, now: Timestamp) -> Option<Duration> {
    (now < until).then(|| until.since(now))
}

/// The limits announced by the platform, and when each ends.
#[derive(Debug, Default)]
pub(crate) struct KnownLimits {
    global: Option<Timestamp>,
    routes: HashMap<Route, Timestamp>,
    tokens: HashMap<(Route, TokenFingerprint), Timestamp>,
}

impl KnownLimits {
    /// Returns how long this call must wait, or `None` if it need not.
    pub(crate) fn left(
        &self,
        route: Route,
        token: Option<TokenFingerprint>,
        now: Timestamp,
    ) -> Option<Duration> {
        let token = token.and_then(|token| self.tokens.get(&(route, token)));
        let waits = [self.global.as_ref(), self.routes.get(&route), token];
        waits.into_iter().flatten().filter_map(|until| left(*until, now)).max()
    }

    pub(crate) fn remember(
        &mut self,
        route: Route,
        token: Option<TokenFingerprint>,
        notice: LimitNotice,
        now: Timestamp,
    ) {
        let until = now.after(notice.wait);
        match (notice.scope, token) {
            (Scope::Global, _) => self.global = Some(until),
            // Calls without a user's token share one limit.
            (Scope::Route, _) | (Scope::Token, None) => {
                self.routes.insert(route, until);
            }
            (Scope::Token, Some(token)) => {
                make_room(&mut self.tokens, &(route, token), |until| now < *until);
                self.tokens.insert((route, token), until);
            }
        }
    }

    /// Records a global pause, unless a longer one is known.
    pub(crate) fn pause(&mut self, wait: Duration, now: Timestamp) {
        self.global = self.global.max(Some(now.after(wait)));
    }
}

/// Minimum time between two polls.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Timeout for the store.
const STORE_TIMEOUT: Duration = Duration::from_millis(250);

/// Pauses that the platform requested from any node. It announces a global limit to one node, but it applies to all. That
/// node stores it, and the others poll the store before a call, at most once a second. A slow store is not waited for:
/// then each node learns of the limit by itself, as it would without sharing.
pub(crate) struct SharedPause {
    pauses: Arc<dyn PlatformPauses>,
    clock: Arc<dyn Clock>,
    /// In monotonic time.
    last_poll: Mutex<Option<Duration>>,
}

impl SharedPause {
    pub(crate) fn new(pauses: Arc<dyn PlatformPauses>, clock: Arc<dyn Clock>) -> Self {
        Self { pauses, clock, last_poll: Mutex::default() }
    }

    /// Returns the remaining pause requested from another node. Returns `None` if there is none, or the last poll was a
    /// moment ago.
    pub(crate) async fn poll(&self) -> Option<Duration> {
        if !self.is_due() {
            return None;
        }
        let pause = timeout(STORE_TIMEOUT, self.pauses.current()).await.ok()?.ok()??;
        pause.left(self.clock.now())
    }

    /// Publishes a pause to the other nodes.
    pub(crate) async fn publish(&self, wait: Duration) {
        let said_at = self.clock.now();
        // On failure the other nodes learn of the limit by themselves.
        let _ = timeout(STORE_TIMEOUT, self.pauses.note(PlatformPause { said_at, wait })).await;
    }

    fn is_due(&self) -> bool {
        let now = self.clock.monotonic();
        let mut last = self.last_poll.lock().unwrap_or_else(PoisonError::into_inner);
        let due = last.is_none_or(|last| now.saturating_sub(last) >= POLL_INTERVAL);
        if due {
            *last = Some(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_testkit::world::at;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn read(status: u16, pairs: &[(&'static str, &'static str)], body: &str) -> Option<(Scope, f64)> {
        let status = StatusCode::from_u16(status).unwrap();
        let notice = LimitNotice::read(status, &headers(pairs), body.as_bytes())?;
        Some((notice.scope, notice.wait.as_secs_f64()))
    }

    fn notice(scope: Scope, seconds: u64) -> LimitNotice {
        LimitNotice { scope, wait: Duration::from_secs(seconds) }
    }

    #[test]
    fn reads_scope_and_wait_from_status_headers_and_body() {
        const BODY: &str = r#"{"message": "slow down", "retry_after": 1.5, "global": false}"#;
        const GLOBAL: &str = r#"{"retry_after": 1, "global": true}"#;
        let (token, global) = (|wait| Some((Scope::Token, wait)), |wait| Some((Scope::Global, wait)));
        let bucket = |left| [("x-ratelimit-remaining", left), ("x-ratelimit-reset-after", "0.25")];
        for (status, headers, body, expected) in [
            // The longer wait of header and body.
            (429, &[("retry-after", "1")][..], BODY, token(1.5)),
            (429, &[("retry-after", "2")], BODY, token(2.0)),
            (429, &[], BODY, token(1.5)),
            (429, &[], GLOBAL, global(1.0)),
            (429, &[("x-ratelimit-global", "true")], BODY, global(1.5)),
            (429, &[("x-ratelimit-scope", "global")], BODY, global(1.5)),
            (429, &[("x-ratelimit-scope", "shared")], BODY, token(1.5)),
            (429, &[("retry-after", "9")], "<html>", global(9.0)),
            (429, &[("retry-after", "99999999")], "", global(86400.0)),
            // Only a bucket that was just emptied limits.
            (200, &bucket("0"), "", token(0.25)),
            (200, &bucket("1"), "", None),
            (200, &[("x-ratelimit-remaining", "0")], "", None),
            (200, &[("retry-after", "5")], "", None),
            (503, &[("retry-after", "5")], "", Some((Scope::Route, 5.0))),
            (503, &[], "", None),
        ] {
            assert_eq!(read(status, headers, body), expected, "{status} {headers:?} {body}");
        }
        for nonsense in ["-1", "NaN", "inf", "soon", "Wed, 21 Oct 2015 07:28:00 GMT"] {
            assert_eq!(read(429, &[("retry-after", nonsense)], ""), global(60.0), "{nonsense}");
        }
    }

    #[test]
    fn a_limit_applies_to_its_route_and_token_unless_global() {
        let mut limits = KnownLimits::default();
        let (one, other) = (Some(TokenFingerprint(1)), Some(TokenFingerprint(2)));
        limits.remember(Route::User, one, notice(Scope::Token, 10), at(0));
        assert_eq!(limits.left(Route::User, one, at(4)), Some(Duration::from_secs(6)));
        assert_eq!(limits.left(Route::User, one, at(10)), None);
        assert_eq!(limits.left(Route::User, other, at(4)), None);
        assert_eq!(limits.left(Route::Guilds, one, at(4)), None);

        limits.remember(Route::Guilds, one, notice(Scope::Route, 10), at(0));
        assert!(limits.left(Route::Guilds, other, at(4)).is_some());
        limits.remember(Route::Token, None, notice(Scope::Token, 10), at(0));
        assert!(limits.left(Route::Token, None, at(4)).is_some());
        assert!(limits.left(Route::Revoke, None, at(4)).is_none());
        limits.remember(Route::User, one, notice(Scope::Global, 10), at(0));
        assert!(Route::ALL.iter().all(|route| limits.left(*route, other, at(4)).is_some()));
    }
}

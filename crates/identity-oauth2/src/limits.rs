//! The platform's rate limits: what an answer says about them, and until when that holds.

use crate::Route;
use companion_domain::model::Timestamp;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use std::{collections::HashMap, time::Duration};

/// How long to wait where the platform limits us without saying for how long.
const UNSAID: Duration = Duration::from_secs(60);
/// The longest wait that is believed. After that, asking once more is no harm.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// Past this many remembered limits, those that are over are cleared away; and past it still, the map is.
const MANY: usize = 10_000;

/// A stand-in for a token, so that none is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TokenMark(pub(crate) u64);

/// What a limit holds for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The route, in the name of whoever asked.
    Asker,
    /// The route, whoever asks.
    Route,
    /// Everything.
    Everything,
}

/// What an answer says about limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) scope: Scope,
    pub(crate) wait: Duration,
}

impl Said {
    /// Reads an answer. A limit that has just been used up counts, too: the next call would meet it.
    pub(crate) fn read(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Option<Self> {
        let retry_after = seconds(headers, "retry-after");
        let reset_after = seconds(headers, "x-ratelimit-reset-after");
        if status == StatusCode::TOO_MANY_REQUESTS {
            let own = serde_json::from_slice::<OwnWords>(body).ok();
            let in_body = own.as_ref().and_then(|own| length(own.retry_after));
            let global = headers.contains_key("x-ratelimit-global")
                || headers.get("x-ratelimit-scope").is_some_and(|scope| scope == "global");
            // A page instead of the platform's own words comes from what stands before it: that is a ban, and holds
            // for everything.
            let global = global || own.is_none_or(|own| own.global);
            let wait = retry_after.max(in_body).or(reset_after).unwrap_or(UNSAID);
            return Some(Self {
                scope: if global { Scope::Everything } else { Scope::Asker },
                wait: wait.min(LONGEST),
            });
        }
        if status.is_server_error() {
            let wait = retry_after?.min(LONGEST);
            return Some(Self { scope: Scope::Route, wait });
        }
        let used_up = headers.get("x-ratelimit-remaining").is_some_and(|left| left == "0");
        let wait = reset_after.filter(|_| used_up)?.min(LONGEST);
        Some(Self { scope: Scope::Asker, wait })
    }
}

/// The platform's own words with 429.
#[derive(Deserialize)]
struct OwnWords {
    retry_after: f64,
    #[serde(default)]
    global: bool,
}

fn seconds(headers: &HeaderMap, name: &str) -> Option<Duration> {
    length(headers.get(name)?.to_str().ok()?.trim().parse().ok()?)
}

/// What is not a length of time, such as minus one or infinity, was not said.
fn length(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

#[derive(Debug, Clone, Copy)]
struct Wait {
    since: Timestamp,
    until: Timestamp,
}

impl Wait {
    /// A clock that was set back ends it, rather than stretching it.
    fn left(self, now: Timestamp) -> Option<Duration> {
        (self.since <= now && now < self.until).then(|| self.until.since(now))
    }
}

/// What the platform said, until it no longer holds.
#[derive(Debug, Default)]
pub(crate) struct LimitMemory {
    everything: Option<Wait>,
    routes: HashMap<Route, Wait>,
    askers: HashMap<(Route, TokenMark), Wait>,
}

impl LimitMemory {
    /// How long this must not be asked; nothing where it may.
    pub(crate) fn left(&self, route: Route, asker: Option<TokenMark>, now: Timestamp) -> Option<Duration> {
        let asker = asker.and_then(|asker| self.askers.get(&(route, asker)));
        let waits = [self.everything.as_ref(), self.routes.get(&route), asker];
        waits.into_iter().flatten().filter_map(|wait| wait.left(now)).max()
    }

    pub(crate) fn remember(&mut self, route: Route, asker: Option<TokenMark>, said: Said, now: Timestamp) {
        let wait = Wait { since: now, until: now.after(said.wait) };
        match (said.scope, asker) {
            (Scope::Everything, _) => self.everything = Some(wait),
            // Calls in our own name share one limit.
            (Scope::Route, _) | (Scope::Asker, None) => {
                self.routes.insert(route, wait);
            }
            (Scope::Asker, Some(asker)) => {
                self.make_room(now);
                self.askers.insert((route, asker), wait);
            }
        }
    }

    fn make_room(&mut self, now: Timestamp) {
        if self.askers.len() >= MANY {
            self.askers.retain(|_, wait| wait.left(now).is_some());
        }
        if self.askers.len() >= MANY {
            self.askers.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn read(status: u16, pairs: &[(&'static str, &'static str)], body: &str) -> Option<(Scope, f64)> {
        let status = StatusCode::from_u16(status).unwrap();
        let said = Said::read(status, &headers(pairs), body.as_bytes())?;
        Some((said.scope, said.wait.as_secs_f64()))
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn said(scope: Scope, seconds: u64) -> Said {
        Said { scope, wait: Duration::from_secs(seconds) }
    }

    #[test]
    fn the_longer_of_what_the_header_and_the_body_say_holds() {
        let body = r#"{"message": "slow down", "retry_after": 1.5, "global": false}"#;
        assert_eq!(read(429, &[("retry-after", "1")], body), Some((Scope::Asker, 1.5)));
        assert_eq!(read(429, &[("retry-after", "2")], body), Some((Scope::Asker, 2.0)));
        assert_eq!(read(429, &[], body), Some((Scope::Asker, 1.5)));
    }

    #[test]
    fn a_global_limit_is_one_wherever_it_says_so() {
        let (local, global) = (r#"{"retry_after": 1}"#, r#"{"retry_after": 1, "global": true}"#);
        assert_eq!(read(429, &[], global), Some((Scope::Everything, 1.0)));
        assert_eq!(read(429, &[("x-ratelimit-global", "true")], local), Some((Scope::Everything, 1.0)));
        assert_eq!(read(429, &[("x-ratelimit-scope", "global")], local), Some((Scope::Everything, 1.0)));
        assert_eq!(read(429, &[("x-ratelimit-scope", "shared")], local), Some((Scope::Asker, 1.0)));
        assert_eq!(read(429, &[("retry-after", "9")], "<html>"), Some((Scope::Everything, 9.0)));
    }

    #[test]
    fn what_makes_no_sense_is_taken_as_unsaid_and_what_is_endless_is_cut() {
        for nonsense in ["-1", "NaN", "inf", "soon", "Wed, 21 Oct 2015 07:28:00 GMT"] {
            assert_eq!(
                read(429, &[("retry-after", nonsense)], ""),
                Some((Scope::Everything, 60.0)),
                "{nonsense}"
            );
        }
        assert_eq!(read(429, &[("retry-after", "99999999")], ""), Some((Scope::Everything, 86400.0)));
    }

    #[test]
    fn a_bucket_that_was_just_emptied_counts_and_others_do_not() {
        let left = |left| [("x-ratelimit-remaining", left), ("x-ratelimit-reset-after", "0.25")];
        assert_eq!(read(200, &left("0"), ""), Some((Scope::Asker, 0.25)));
        assert_eq!(read(200, &left("1"), ""), None);
        assert_eq!(read(200, &[("x-ratelimit-remaining", "0")], ""), None);
        assert_eq!(read(200, &[("retry-after", "5")], ""), None);
        assert_eq!(read(503, &[("retry-after", "5")], ""), Some((Scope::Route, 5.0)));
        assert_eq!(read(503, &[], ""), None);
    }

    #[test]
    fn a_limit_holds_for_its_route_and_asker_only_unless_it_is_global() {
        let mut memory = LimitMemory::default();
        let (one, other) = (Some(TokenMark(1)), Some(TokenMark(2)));
        memory.remember(Route::User, one, said(Scope::Asker, 10), at(0));
        assert_eq!(memory.left(Route::User, one, at(4)), Some(Duration::from_secs(6)));
        assert_eq!(memory.left(Route::User, one, at(10)), None);
        assert_eq!(memory.left(Route::User, other, at(4)), None);
        assert_eq!(memory.left(Route::Guilds, one, at(4)), None);

        memory.remember(Route::Guilds, one, said(Scope::Route, 10), at(0));
        assert!(memory.left(Route::Guilds, other, at(4)).is_some());
        memory.remember(Route::Token, None, said(Scope::Asker, 10), at(0));
        assert!(memory.left(Route::Token, None, at(4)).is_some());
        assert!(memory.left(Route::Revoke, None, at(4)).is_none());
        memory.remember(Route::User, one, said(Scope::Everything, 10), at(0));
        assert!(Route::ALL.iter().all(|route| memory.left(*route, other, at(4)).is_some()));
        // A clock that was set back ends them all.
        assert!(Route::ALL.iter().all(|route| memory.left(*route, one, at(-4)).is_none()));
    }

    #[test]
    fn the_memory_is_bounded_and_what_still_holds_stays_longest() {
        let mut memory = LimitMemory::default();
        let mark = |number: usize| Some(TokenMark(number as u64));
        memory.remember(Route::User, mark(0), said(Scope::Asker, 100), at(0));
        for number in 1..MANY {
            memory.remember(Route::User, mark(number), said(Scope::Asker, 10), at(0));
        }
        assert_eq!(memory.askers.len(), MANY);
        memory.remember(Route::User, mark(MANY), said(Scope::Asker, 100), at(50));
        assert_eq!(memory.askers.len(), 2);
        assert!(memory.left(Route::User, mark(0), at(50)).is_some());
        for number in 0..3 * MANY {
            memory.remember(Route::User, mark(number), said(Scope::Asker, 100), at(50));
        }
        assert!(memory.askers.len() <= MANY);
    }
}

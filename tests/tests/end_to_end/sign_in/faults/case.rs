//! What can go wrong at the platform, where, and what a caller is to hear of it.

use companion_dev_identity::{DripPart, ErrorBody, Fault, Route};
use std::time::Duration;

/// More than could arrive before any deadline, so that only a limit on the way can end it.
const ENDLESS: u64 = 1 << 40;

/// What happens to a call.
#[derive(Clone)]
pub(super) enum Trouble {
    /// The platform accepts no connection.
    Refused,
    /// It answers so.
    Fault(Fault),
}

/// What a caller hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// 200: the session was made.
    Session,
    /// 401 `idp_code_invalid`
    CodeInvalid,
    /// 502 `provider_failed`
    Failed,
    /// 503 `provider_limited`, to try again after so many seconds.
    Limited(u64),
    /// 504 `provider_timeout`
    Timeout,
}

impl Heard {
    pub(super) fn status_and_word(self) -> (u16, &'static str) {
        match self {
            Self::Session => (200, ""),
            Self::CodeInvalid => (401, "idp_code_invalid"),
            Self::Failed => (502, "provider_failed"),
            Self::Limited(_) => (503, "provider_limited"),
            Self::Timeout => (504, "provider_timeout"),
        }
    }
}

/// One line of the report.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) trouble: Trouble,
    pub(super) route: Route,
    pub(super) heard: Heard,
    /// Whether only a deadline ends it.
    pub(super) slow: bool,
}

impl Case {
    /// How often the token, user and guilds routes are called at most: once each, and none after an exchange that fails.
    fn calls(&self) -> [u64; 3] {
        match (&self.trouble, self.route) {
            (Trouble::Refused, _) => [0, 0, 0],
            (Trouble::Fault(_), Route::Token) => [1, 0, 0],
            (Trouble::Fault(_), _) => [1, 1, 1],
        }
    }

    /// The status of the next sign-in: what the platform said of waiting holds, for those of whom it said so.
    pub(super) fn status_after(&self) -> u16 {
        let Trouble::Fault(fault) = &self.trouble else { return 200 };
        match (fault, self.route) {
            (Fault::Limited { global: true, .. } | Fault::BanPage { status: 429 }, _) => 503,
            (Fault::Limited { .. }, Route::Token) => 503,
            _ => 200,
        }
    }

    /// Whether these are the calls that went out. The list is asked for at the same time as the user, so where the user fails
    /// it depends on who was quicker.
    pub(super) fn is_met_by(&self, calls: [u64; 3]) -> bool {
        let given_up = |[token, user, _]: [u64; 3]| [token, user, 0];
        calls == self.calls() || (self.route == Route::User && calls == given_up(self.calls()))
    }
}

/// Every fault, and what it means on the token route.
fn faults() -> Vec<(&'static str, Fault, Heard)> {
    let drip = |part| Fault::Drip { part, every: Duration::from_millis(20) };
    let huge = |announced| Fault::Huge { bytes: ENDLESS, announced };
    let status = |status, body| Fault::Status { status, body };
    let limited = |retry_after, global| Fault::Limited { retry_after, global };
    let oauth = |error: &str| Fault::OauthError { error: error.to_owned() };
    let redirect = Fault::Redirect { to: "http://127.0.0.1:9/elsewhere".to_owned() };
    vec![
        ("silent", Fault::Silent, Heard::Timeout),
        ("dripping head", drip(DripPart::Head), Heard::Timeout),
        ("dripping body", drip(DripPart::Body), Heard::Timeout),
        ("connection closed", Fault::Closed, Heard::Failed),
        ("not HTTP", Fault::Garbage, Heard::Failed),
        ("truncated", Fault::Truncated, Heard::Failed),
        ("400", status(400, ErrorBody::Json), Heard::Failed),
        ("401", status(401, ErrorBody::Json), Heard::Failed),
        ("403", status(403, ErrorBody::Json), Heard::Failed),
        ("404 page", status(404, ErrorBody::Html), Heard::Failed),
        ("500", status(500, ErrorBody::Json), Heard::Failed),
        ("502 page", status(502, ErrorBody::Html), Heard::Failed),
        ("503 empty", status(503, ErrorBody::Empty), Heard::Failed),
        ("ban page 403", Fault::BanPage { status: 403 }, Heard::Failed),
        // A ban page does not say for how long, so a minute is taken.
        ("ban page 429", Fault::BanPage { status: 429 }, Heard::Limited(60)),
        ("429 local", limited(30.0, false), Heard::Limited(30)),
        ("429 global", limited(40.0, true), Heard::Limited(40)),
        ("not JSON", Fault::NotJson, Heard::Failed),
        ("wrong shape", Fault::WrongShape, Heard::Failed),
        ("huge, announced", huge(true), Heard::Failed),
        ("huge, endless", huge(false), Heard::Failed),
        ("bomb", Fault::Bomb, Heard::Failed),
        ("redirect", redirect, Heard::Failed),
        ("invalid_grant", oauth("invalid_grant"), Heard::CodeInvalid),
        ("invalid_client", oauth("invalid_client"), Heard::Failed),
        ("unknown OAuth error", oauth("unheard_of"), Heard::Failed),
    ]
}

/// What a fault of the token route means on another.
fn heard_on(route: Route, on_token: Heard) -> Heard {
    match (route, on_token) {
        // A session needs no list.
        (Route::Guilds, _) => Heard::Session,
        // Only the token route speaks of codes.
        (Route::User, Heard::CodeInvalid) => Heard::Failed,
        (_, heard) => heard,
    }
}

/// The whole report.
pub(super) fn cases() -> Vec<Case> {
    let refused = Case {
        name: "connection refused",
        trouble: Trouble::Refused,
        route: Route::Token,
        heard: Heard::Failed,
        slow: false,
    };
    let mut cases = vec![refused];
    for route in [Route::Token, Route::User, Route::Guilds] {
        cases.extend(faults().into_iter().map(|(name, fault, heard)| Case {
            name,
            trouble: Trouble::Fault(fault),
            route,
            heard: heard_on(route, heard),
            slow: heard == Heard::Timeout,
        }));
    }
    cases
}

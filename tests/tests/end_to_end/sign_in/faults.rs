//! The fault table: the response to `POST /auth` for each fault of the platform, its duration, its memory use, and the
//! calls made.

use super::{Stage, USER, account, alone};
use crate::{memory, served::Answer};
use companion_dev_identity::{DripPart, ErrorBody, Fault, Route};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

/// Deadline of one call to the platform.
const CALL_DEADLINE: Duration = Duration::from_secs(5);
/// Deadline of one call for faults that only a deadline ends. `FAULTS=full` uses the default one.
const SHORT_CALL_DEADLINE: Duration = Duration::from_millis(600);
/// Deadline of a whole sign-in.
const SIGN_IN_DEADLINE: Duration = Duration::from_secs(7);
/// Maximum memory growth for all faults, in KiB.
const MAX_MEMORY_GROWTH: u64 = 32 * 1024;

const ROUTES: [Route; 3] = [Route::Token, Route::User, Route::Guilds];

/// Returns the deadline of a slow call, and the next longer deadline, before which it must be over.
fn slow_call() -> (Duration, Duration) {
    let is_full = std::env::var("FAULTS").is_ok_and(|faults| faults == "full");
    if is_full { (CALL_DEADLINE, SIGN_IN_DEADLINE) } else { (SHORT_CALL_DEADLINE, CALL_DEADLINE) }
}

/// More than could arrive before any deadline, so that only a size limit can end it.
const ENDLESS: u64 = 1 << 40;

/// What happens to a call.
#[derive(Clone)]
enum Trouble {
    /// The platform refuses connections.
    Refused,
    /// The platform responds with this fault.
    Fault(Fault),
}

/// The expected response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// 200: the session was made.
    Session,
    /// 401 `idp_code_invalid`
    CodeInvalid,
    /// 502 `provider_failed`
    Failed,
    /// 503 `provider_limited`, with this `Retry-After` in seconds.
    Limited(u64),
    /// 504 `provider_timeout`
    Timeout,
}

impl Expected {
    fn status_and_word(self) -> (u16, &'static str) {
        match self {
            Self::Session => (200, ""),
            Self::CodeInvalid => (401, "idp_code_invalid"),
            Self::Failed => (502, "provider_failed"),
            Self::Limited(_) => (503, "provider_limited"),
            Self::Timeout => (504, "provider_timeout"),
        }
    }
}

/// A row of the report.
struct Case {
    name: &'static str,
    trouble: Trouble,
    route: Route,
    expected: Expected,
    /// Whether only a deadline ends it.
    slow: bool,
}

impl Case {
    /// Returns the maximum number of calls to the token, user and guilds routes: one each, and none after a failed
    /// exchange.
    fn calls(&self) -> [u64; 3] {
        match (&self.trouble, self.route) {
            (Trouble::Refused, _) => [0, 0, 0],
            (Trouble::Fault(_), Route::Token) => [1, 0, 0],
            (Trouble::Fault(_), _) => [1, 1, 1],
        }
    }

    /// Returns the status of the next sign-in. Requested pauses apply to the scope the platform stated.
    fn status_after(&self) -> u16 {
        let Trouble::Fault(fault) = &self.trouble else { return 200 };
        match (fault, self.route) {
            (Fault::Limited { global: true, .. } | Fault::BanPage { status: 429 }, _) => 503,
            (Fault::Limited { .. }, Route::Token) => 503,
            _ => 200,
        }
    }

    /// Whether these calls match. User and list are requested concurrently, so if the user fails, the list may or may
    /// not have been requested.
    fn is_met_by(&self, calls: [u64; 3]) -> bool {
        let given_up = |[token, user, _]: [u64; 3]| [token, user, 0];
        calls == self.calls() || (self.route == Route::User && calls == given_up(self.calls()))
    }
}

/// Returns every fault, and its effect on the token route.
fn faults() -> Vec<(&'static str, Fault, Expected)> {
    let drip = |part| Fault::Drip { part, every: Duration::from_millis(20) };
    let huge = |announced| Fault::Huge { bytes: ENDLESS, announced };
    let status = |status, body| Fault::Status { status, body };
    let limited = |retry_after, global| Fault::Limited { retry_after, global };
    let oauth = |error: &str| Fault::OauthError { error: error.to_owned() };
    let redirect = Fault::Redirect { to: "http://127.0.0.1:9/elsewhere".to_owned() };
    vec![
        ("silent", Fault::Silent, Expected::Timeout),
        ("dripping head", drip(DripPart::Head), Expected::Timeout),
        ("dripping body", drip(DripPart::Body), Expected::Timeout),
        ("connection closed", Fault::Closed, Expected::Failed),
        ("not HTTP", Fault::Garbage, Expected::Failed),
        ("truncated", Fault::Truncated, Expected::Failed),
        ("400", status(400, ErrorBody::Json), Expected::Failed),
        ("401", status(401, ErrorBody::Json), Expected::Failed),
        ("403", status(403, ErrorBody::Json), Expected::Failed),
        ("404 page", status(404, ErrorBody::Html), Expected::Failed),
        ("500", status(500, ErrorBody::Json), Expected::Failed),
        ("502 page", status(502, ErrorBody::Html), Expected::Failed),
        ("503 empty", status(503, ErrorBody::Empty), Expected::Failed),
        ("ban page 403", Fault::BanPage { status: 403 }, Expected::Failed),
        // A ban page states no duration, so a minute is assumed.
        ("ban page 429", Fault::BanPage { status: 429 }, Expected::Limited(60)),
        ("429 local", limited(30.0, false), Expected::Limited(30)),
        ("429 global", limited(40.0, true), Expected::Limited(40)),
        ("not JSON", Fault::NotJson, Expected::Failed),
        ("wrong shape", Fault::WrongShape, Expected::Failed),
        ("huge, announced", huge(true), Expected::Failed),
        ("huge, endless", huge(false), Expected::Failed),
        ("bomb", Fault::Bomb, Expected::Failed),
        ("redirect", redirect, Expected::Failed),
        ("invalid_grant", oauth("invalid_grant"), Expected::CodeInvalid),
        ("invalid_client", oauth("invalid_client"), Expected::Failed),
        ("unknown OAuth error", oauth("unheard_of"), Expected::Failed),
    ]
}

/// Maps the effect on the token route to that on another route.
fn expected_on(route: Route, on_token: Expected) -> Expected {
    match (route, on_token) {
        // A session needs no list.
        (Route::Guilds, _) => Expected::Session,
        // Only the token route rejects codes.
        (Route::User, Expected::CodeInvalid) => Expected::Failed,
        (_, expected) => expected,
    }
}

/// Returns all rows.
fn cases() -> Vec<Case> {
    let refused = Case {
        name: "connection refused",
        trouble: Trouble::Refused,
        route: Route::Token,
        expected: Expected::Failed,
        slow: false,
    };
    let mut cases = vec![refused];
    for route in [Route::Token, Route::User, Route::Guilds] {
        cases.extend(faults().into_iter().map(|(name, fault, expected)| Case {
            name,
            trouble: Trouble::Fault(fault),
            route,
            expected: expected_on(route, expected),
            slow: expected == Expected::Timeout,
        }));
    }
    cases
}

/// A memory measurement in progress.
#[derive(Debug, Clone, Copy)]
struct Measurement {
    before: Option<u64>,
}

impl Measurement {
    /// Resets the peak, so that it covers only what follows.
    fn begin() -> Self {
        let forgotten = fs::write("/proc/self/clear_refs", "5");
        Self { before: forgotten.ok().and_then(|()| memory("VmRSS:")) }
    }

    /// Returns the peak growth in KiB.
    fn growth(&self) -> Option<u64> {
        Some(memory("VmHWM:")?.saturating_sub(self.before?))
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn measures_the_peak_of_short_allocations() {
    let _turn = alone().await;
    let measurement = Measurement::begin();
    drop(std::hint::black_box(vec![1_u8; 64 << 20]));
    let growth = measurement.growth().unwrap();
    assert!(growth >= 63 << 10, "{growth} KiB");
    assert!(Measurement::begin().growth().unwrap() < 8 << 10);
}

/// A stage with cases that run on it in turn. Each has its own user and is followed by a successful sign-in, so that
/// breakers and budgets do not carry over.
struct Series {
    stage: Stage,
    cases: Vec<Case>,
    users: u64,
}

struct Observed {
    answer: Answer,
    took: Duration,
    calls: [u64; 3],
}

impl Series {
    async fn new(cases: Vec<Case>) -> Self {
        let is_slow = cases.iter().any(|case| case.slow);
        let stage = if is_slow { Stage::within(slow_call().0).await } else { Stage::new().await };
        let warm = stage.sign_in(&stage.code()).await;
        assert_eq!(warm.status, 200, "{}", warm.body);
        Self { stage, cases, users: 0 }
    }

    /// Runs all cases. Returns their rows.
    async fn play(&mut self, memory: &Measurement) -> Vec<String> {
        let mut rows = Vec::new();
        for case in std::mem::take(&mut self.cases) {
            self.users += 1;
            self.stage.control.put_user(account(USER + self.users));
            match &case.trouble {
                Trouble::Refused => self.stage.platform.refuse_connections().await,
                Trouble::Fault(fault) => self.stage.control.fail(case.route, fault.clone()),
            }
            let observed = self.meet().await;
            rows.push(self.conclude(&case, observed, memory.growth()).await);
        }
        rows
    }

    fn code(&self) -> String {
        self.stage.control.mint_code(USER + self.users)
    }

    async fn meet(&self) -> Observed {
        let code = self.code();
        let before = self.calls();
        let begun = Instant::now();
        let answer = self.stage.sign_in(&code).await;
        let took = begun.elapsed();
        let after = self.calls();
        let calls = std::array::from_fn(|route| after[route] - before[route]);
        Observed { answer, took, calls }
    }

    /// Returns how often each route was called, the list on behalf of this user only: the list of the user before may
    /// still be under way, because no sign-in waits for it.
    fn calls(&self) -> [u64; 3] {
        let control = &self.stage.control;
        ROUTES.map(|route| match route {
            Route::Guilds => control.calls_of(USER + self.users).guilds,
            other => control.calls(other),
        })
    }

    /// Asserts the outcome, and that sign-in works again after the fault.
    async fn conclude(&mut self, case: &Case, observed: Observed, growth: Option<u64>) -> String {
        let Observed { answer, took, calls } = observed;
        let Case { name, route, expected, slow, .. } = case;
        let what = format!("{name} on {route:?}: {took:?} {}{}", answer.head, answer.body);
        let (status, word) = (answer.status, answer.word());
        assert_eq!((status, word.as_str()), expected.status_and_word(), "{what}");
        assert!(case.is_met_by(calls), "{calls:?}: {what}");
        let (deadline, late) = if *slow { slow_call() } else { (Duration::ZERO, CALL_DEADLINE) };
        assert!((deadline..late).contains(&took), "{what}");
        assert!(growth.is_none_or(|growth| growth < MAX_MEMORY_GROWTH), "{growth:?} KiB: {what}");
        let wait: Option<u64> = answer.header("Retry-After").map(|wait| wait.parse().unwrap());
        let expected = if let Expected::Limited(wait) = expected { Some(*wait) } else { None };
        assert_eq!(wait, expected, "{what}");

        self.stage.control.clear_all();
        self.stage.platform.accept_again().unwrap();
        let next = self.stage.sign_in(&self.code()).await.status;
        assert_eq!(next, case.status_after(), "after {what}");
        format!(
            "{name:<20} {:<6} {status} {word:<16} {:>5} ms {:>6} KiB  {calls:?}  then {next}",
            format!("{route:?}").to_lowercase(),
            took.as_millis(),
            growth.map_or_else(|| "?".to_owned(), |growth| growth.to_string()),
        )
    }
}

/// Groups the cases that can share a stage: none may follow one after which the platform is not called.
fn series() -> Vec<Vec<Case>> {
    let (alone, shared): (Vec<_>, Vec<_>) = cases().into_iter().partition(|case| case.status_after() != 200);
    let mut by_route: BTreeMap<(Route, bool), Vec<Case>> = BTreeMap::new();
    for case in shared {
        by_route.entry((case.route, case.slow)).or_default().push(case);
    }
    by_route.into_values().chain(alone.into_iter().map(|case| vec![case])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_platform_fault_is_answered_in_time_and_bounded_memory() {
    let _turn = alone().await;
    let mut starting = JoinSet::new();
    for cases in series() {
        starting.spawn(Series::new(cases));
    }
    let all = starting.join_all().await;
    let memory = Measurement::begin();
    let mut playing = JoinSet::new();
    for mut series in all {
        playing.spawn(async move {
            let rows = series.play(&memory).await;
            series.stage.stop().await;
            rows
        });
    }
    let rows = playing.join_all().await.concat();
    let mut report =
        "fault                route  code and word        time     memory  calls to token, user, guilds\n"
            .to_owned();
    for row in &rows {
        let _ = writeln!(report, "{row}");
    }
    println!(
        "{report}{} faults, met at the same time where they can be; the memory is that of all",
        rows.len()
    );
}

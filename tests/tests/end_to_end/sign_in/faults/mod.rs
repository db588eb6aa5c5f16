//! The fault table: what a caller of `POST /auth` hears when the platform fails, how long it takes, how much memory it
//! costs, and what went out.

mod case;
mod memory;

use self::{
    case::{Case, Heard, Trouble, cases},
    memory::Measurement,
};
use super::{
    alone,
    stage::{Stage, USER, account, hold_time, platform},
};
use crate::served::{Answer, identity};
use actix_web::test::{TestRequest, call_and_read_body_json, init_service};
use companion_dev_identity::{Control, ErrorBody, Fault, Route};
use companion_testkit::service::TestService;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    time::{Duration, Instant},
};
use tokio::task::{JoinHandle, JoinSet, LocalSet, spawn_local, yield_now};

/// One call to the platform.
const CALL: Duration = Duration::from_secs(5);
/// One call, where only a deadline ends it. `FAULTS=full` waits for the usual one.
const SHORT_CALL: Duration = Duration::from_millis(600);
/// A whole sign-in.
const WHOLE: Duration = Duration::from_secs(7);
/// The most that all faults may cost in memory, in KiB.
const MEMORY: u64 = 32 * 1024;

const ROUTES: [Route; 3] = [Route::Token, Route::User, Route::Guilds];

/// The deadline of a call that nothing else ends, and what it must be over before: the next longer deadline.
fn slow_call() -> (Duration, Duration) {
    let is_full = std::env::var("FAULTS").is_ok_and(|faults| faults == "full");
    if is_full { (CALL, WHOLE) } else { (SHORT_CALL, CALL) }
}

/// A stage, and the cases that are met on it one after the other. Each has a user of its own, and a sign-in that works comes
/// after it, so that neither breakers nor budgets of one meet the next.
struct Series {
    stage: Stage,
    cases: Vec<Case>,
    users: u64,
}

struct Met {
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

    /// Meets all cases. Returns their rows.
    async fn play(&mut self, memory: &Measurement) -> Vec<String> {
        let mut rows = Vec::new();
        for case in std::mem::take(&mut self.cases) {
            self.users += 1;
            self.stage.control.put_user(account(USER + self.users));
            match &case.trouble {
                Trouble::Refused => self.stage.platform.refuse_connections().await,
                Trouble::Fault(fault) => self.stage.control.fail(case.route, fault.clone()),
            }
            let met = self.meet().await;
            rows.push(self.conclude(&case, met, memory.growth()).await);
        }
        rows
    }

    fn code(&self) -> String {
        self.stage.control.mint_code(USER + self.users)
    }

    async fn meet(&self) -> Met {
        let code = self.code();
        let before = self.calls();
        let begun = Instant::now();
        let answer = self.stage.sign_in(&code).await;
        let took = begun.elapsed();
        let after = self.calls();
        let calls = std::array::from_fn(|route| after[route] - before[route]);
        Met { answer, took, calls }
    }

    fn calls(&self) -> [u64; 3] {
        ROUTES.map(|route| self.stage.control.calls(route))
    }

    /// Checks what was met, and that the service is well again when the platform is.
    async fn conclude(&mut self, case: &Case, met: Met, growth: Option<u64>) -> String {
        let Met { answer, took, calls } = met;
        let Case { name, route, heard, slow, .. } = case;
        let what = format!("{name} on {route:?}: {took:?} {}{}", answer.head, answer.body);
        let (status, word) = (answer.status, answer.word());
        assert_eq!((status, word.as_str()), heard.status_and_word(), "{what}");
        assert!(case.is_met_by(calls), "{calls:?}: {what}");
        let (deadline, late) = if *slow { slow_call() } else { (Duration::ZERO, CALL) };
        assert!((deadline..late).contains(&took), "{what}");
        assert!(growth.is_none_or(|growth| growth < MEMORY), "{growth:?} KiB: {what}");
        let wait: Option<u64> = answer.header("Retry-After").map(|wait| wait.parse().unwrap());
        let expected = if let Heard::Limited(wait) = heard { Some(*wait) } else { None };
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

/// The cases, in series that can share a stage: none may follow one after which the platform is left alone.
fn series() -> Vec<Vec<Case>> {
    let (alone, shared): (Vec<_>, Vec<_>) = cases().into_iter().partition(|case| case.status_after() != 200);
    let mut by_route: BTreeMap<(Route, bool), Vec<Case>> = BTreeMap::new();
    for case in shared {
        by_route.entry((case.route, case.slow)).or_default().push(case);
    }
    by_route.into_values().chain(alone.into_iter().map(|case| vec![case])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_the_platform_has_its_answer_in_time_and_in_little_memory() {
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

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_that_keeps_failing_is_left_alone_and_asked_again_once_it_is_back() {
    let _turn = alone().await;
    let stage = Stage::new().await;
    stage.control.fail(Route::Token, Fault::Status { status: 500, body: ErrorBody::Json });
    let mut failures = 0;
    let limited = loop {
        let answer = stage.sign_in(&stage.code()).await;
        if answer.status != 502 {
            break answer;
        }
        failures += 1;
        assert!(failures < 100, "the breaker never opens");
    };
    assert_eq!((limited.status, limited.word().as_str()), (503, "provider_limited"));
    let wait: u64 = limited.header("Retry-After").unwrap().parse().unwrap();
    assert!((1..=30).contains(&wait), "{wait}");
    // Every call that went out failed, and the one that was limited did not go out.
    assert_eq!(stage.control.calls(Route::Token), failures);

    stage.control.clear_all();
    let begun = Instant::now();
    // What was not sent is not spent: it is one code all the time.
    let code = stage.code();
    let mut refused = 0;
    let session = loop {
        let answer = stage.sign_in(&code).await;
        if answer.status != 503 {
            break answer;
        }
        refused += 1;
        assert!(begun.elapsed() < Duration::from_secs(30), "the breaker never closes");
    };
    println!(
        "breaker: {failures} failures, then 503 provider_limited without a call (Retry-After {wait}); after the platform \
         was back {refused} more were refused without a call, and the next got its session after {} ms",
        begun.elapsed().as_millis()
    );
    assert_eq!(session.status, 200, "{}", session.body);
    assert_eq!(stage.control.calls(Route::Token), failures + 1);
    stage.stop().await;
}

/// A service that signs in with the real provider while time is held.
struct Held {
    control: Control,
    service: TestService,
}

impl Held {
    /// Time passes, for the service and for its deadlines.
    async fn pass(&self, length: Duration) {
        self.service.memory.clock.advance(length);
        tokio::time::advance(length).await;
    }

    /// Begins a sign-in. Returns its status and the word of an error.
    fn sign_in(&self) -> JoinHandle<(u64, String)> {
        let (public, code) = (self.service.public.clone(), self.control.mint_code(USER));
        spawn_local(async move {
            let request = TestRequest::post().uri("/auth").insert_header(("Idp-Code", code)).to_request();
            let body: Value = call_and_read_body_json(&init_service(public.app()).await, request).await;
            let word = body["data"]["error"].as_str().unwrap_or_default();
            (body["code"].as_u64().unwrap(), word.to_owned())
        })
    }
}

/// Runs a check in which time passes only as it says, though answers come over real sockets.
async fn while_time_is_held(check: impl AsyncFnOnce(&Held)) {
    let platform = platform("secret");
    let still = hold_time();
    let service = TestService::with(|plan| {
        plan.memory.ports.identity = identity(&platform, "secret", plan.memory.clock.clone());
    });
    let held = Held { control: platform.control(), service: service.await };
    LocalSet::new().run_until(check(&held)).await;
    drop(still);
    platform.stop().await;
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_each_in_time_do_not_add_up_to_more_than_a_whole_sign_in_may_take() {
    const EACH: Duration = Duration::from_secs(4);
    const MOMENT: Duration = Duration::from_millis(10);
    let _turn = alone().await;
    while_time_is_held(async |held| {
        let (exchange, user) = (held.control.hold(Route::Token), held.control.hold(Route::User));
        let signing_in = held.sign_in();
        held.control.called(Route::Token, 1).await;
        held.pass(EACH).await;
        drop(exchange);
        held.control.called(Route::User, 1).await;
        held.pass(WHOLE - EACH - MOMENT).await;
        for _ in 0..100 {
            yield_now().await;
        }
        assert!(!signing_in.is_finished(), "given up too early");
        held.pass(MOMENT).await;
        let (status, word) = signing_in.await.unwrap();
        assert_eq!((status, word.as_str()), (504, "provider_timeout"));
        drop(user);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_exchange_and_a_list_that_never_comes_still_make_a_session() {
    let _turn = alone().await;
    while_time_is_held(async |held| {
        held.control.fail(Route::Guilds, Fault::Silent);
        let exchange = held.control.hold(Route::Token);
        let mut signing_in = held.sign_in();
        held.control.called(Route::Token, 1).await;
        held.pass(Duration::from_secs(3)).await;
        drop(exchange);
        // A list that is asked for now would outlast the sign-in.
        let (status, word) = tokio::select! {
            answer = &mut signing_in => answer.unwrap(),
            () = held.control.called(Route::Guilds, 1) => panic!("no time is left for a list"),
        };
        assert_eq!((status, word.as_str()), (200, ""));
    })
    .await;
}

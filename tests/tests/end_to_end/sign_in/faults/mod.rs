//! The fault table: what a caller of `POST /auth` hears when the platform fails, how long it takes, how much memory it
//! costs, and what went out.

mod case;
mod memory;
mod slow_platform;

use self::{
    case::{Case, Heard, Trouble, cases},
    memory::Measurement,
    slow_platform::{Pace, SlowPlatform},
};
use super::{
    alone,
    stage::{Stage, USER, platform},
};
use crate::{
    client::{Answer, Client},
    served::{Served, database, layers},
};
use companion_dev_identity::{ErrorBody, Fault, Route};
use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

/// One call to the platform.
const CALL: Duration = Duration::from_secs(5);
/// A whole sign-in.
const WHOLE: Duration = Duration::from_secs(7);
/// What this machine may add to either when it is busy.
const SLACK: Duration = Duration::from_millis(900);
/// The most that a fault may cost in memory, in KiB.
const MEMORY: u64 = 32 * 1024;

const ROUTES: [Route; 3] = [Route::Token, Route::User, Route::Guilds];

/// A case on a stage of its own: breakers, budgets and limits of one must not meet the next.
struct Prepared {
    case: Case,
    stage: Stage,
    code: String,
}

struct Met {
    answer: Answer,
    took: Duration,
    calls: [u64; 3],
}

impl Prepared {
    async fn new(case: Case) -> Self {
        let mut stage = Stage::new().await;
        let warm = stage.sign_in(&stage.code()).await;
        assert_eq!(warm.status, 200, "{}", warm.body);
        let code = stage.code();
        match &case.trouble {
            Trouble::Refused => stage.platform.refuse_connections().await,
            Trouble::Fault(fault) => stage.control.fail(case.route, fault.clone()),
        }
        Self { case, stage, code }
    }

    async fn meet(&self) -> Met {
        let before = self.calls();
        let begun = Instant::now();
        let answer = self.stage.sign_in(&self.code).await;
        let took = begun.elapsed();
        let after = self.calls();
        let calls = std::array::from_fn(|route| after[route] - before[route]);
        Met { answer, took, calls }
    }

    fn calls(&self) -> [u64; 3] {
        ROUTES.map(|route| self.stage.control.calls(route))
    }

    /// Checks what was met, and that the service is well again when the platform is.
    async fn conclude(mut self, met: Met, growth: Option<u64>) -> String {
        let Met { answer, took, calls } = met;
        let Case { name, route, heard, slow, .. } = &self.case;
        let what = format!("{name} on {route:?}: {took:?} {}{}", answer.head, answer.body);
        let (status, word) = (answer.status, answer.word());
        assert_eq!((status, word.as_str()), heard.status_and_word(), "{what}");
        assert!(self.case.is_met_by(calls), "{calls:?}: {what}");
        assert!(took < if *slow { CALL + SLACK } else { CALL }, "{what}");
        assert!(!*slow || took >= CALL, "{what}");
        assert!(growth.is_none_or(|growth| growth < MEMORY), "{growth:?} KiB: {what}");
        let wait: Option<u64> = answer.header("Retry-After").map(|wait| wait.parse().unwrap());
        let expected = if let Heard::Limited(wait) = heard { Some(*wait) } else { None };
        assert_eq!(wait, expected, "{what}");

        self.stage.control.clear_all();
        self.stage.platform.accept_again().unwrap();
        let next = self.stage.sign_in(&self.stage.code()).await.status;
        assert_eq!(next, self.status_after(), "after {what}");
        let row = format!(
            "{name:<20} {:<6} {status} {word:<16} {:>5} ms {:>6} KiB  {calls:?}  then {next}",
            format!("{route:?}").to_lowercase(),
            took.as_millis(),
            growth.map_or_else(|| "?".to_owned(), |growth| growth.to_string()),
        );
        self.stage.stop().await;
        row
    }

    /// The status of the next sign-in: what the platform said of waiting holds, for those of whom it said so.
    fn status_after(&self) -> u16 {
        let Trouble::Fault(fault) = &self.case.trouble else { return 200 };
        match (fault, self.case.route) {
            (Fault::Limited { global: true, .. } | Fault::BanPage { status: 429 }, _) => 503,
            (Fault::Limited { .. }, Route::Token) => 503,
            _ => 200,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_the_platform_has_its_answer_in_time_and_in_little_memory() {
    let _turn = alone().await;
    let (slow, quick): (Vec<_>, Vec<_>) = cases().into_iter().partition(|case| case.slow);
    let mut rows = Vec::new();
    for case in quick {
        let prepared = Prepared::new(case).await;
        let memory = Measurement::begin();
        let met = prepared.meet().await;
        let growth = memory.growth();
        rows.push(prepared.conclude(met, growth).await);
    }
    rows.extend(together(slow).await);
    let mut report =
        "fault                route  code and word        time     memory  calls to token, user, guilds\n"
            .to_owned();
    for row in &rows {
        let _ = writeln!(report, "{row}");
    }
    println!(
        "{report}{} faults; the slow ones were met at the same time, and their memory is that of all of them",
        rows.len()
    );
}

/// Cases that only a deadline ends, at the same time.
async fn together(cases: Vec<Case>) -> Vec<String> {
    let mut prepared = Vec::new();
    for case in cases {
        prepared.push(Prepared::new(case).await);
    }
    let memory = Measurement::begin();
    let mut meeting = JoinSet::new();
    for prepared in prepared {
        meeting.spawn(async move {
            let met = prepared.meet().await;
            (prepared, met)
        });
    }
    let all = meeting.join_all().await;
    let growth = memory.growth();
    let mut rows = Vec::new();
    for (prepared, met) in all {
        rows.push(prepared.conclude(met, growth).await);
    }
    rows
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

/// Signs in at a platform of this pace, whose list of guilds never comes where `silent_list` says so.
async fn sign_in_slowly(pace: Pace, silent_list: bool) -> (Answer, Duration) {
    let real = platform("secret");
    if silent_list {
        real.control().fail(Route::Guilds, Fault::Silent);
    }
    let slow = SlowPlatform::before(real.address(), pace).await;
    let folder = tempfile::tempdir().unwrap();
    let api = real.api_url().replace(&real.address().to_string(), &slow.address.to_string());
    let layers = layers(&api, "secret", &database(folder.path())).with("COMPANION_LOG__LEVEL", "error");
    let served = Served::start(&layers, |_| {}).await;
    let begun = Instant::now();
    let code = real.control().mint_code(USER);
    let answer = Client::connect(served.public).await.sign_in(&code).await;
    let took = begun.elapsed();
    served.stop().await;
    real.stop().await;
    (answer, took)
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_each_in_time_do_not_add_up_to_more_than_a_whole_sign_in_may_take() {
    let _turn = alone().await;
    let (answer, took) = sign_in_slowly(|_| Duration::from_secs(4), false).await;
    println!("token 4 s, user 4 s: {} {} after {} ms", answer.status, answer.word(), took.as_millis());
    assert_eq!((answer.status, answer.word().as_str()), Heard::Timeout.status_and_word());
    assert!(took >= WHOLE && took < WHOLE + SLACK, "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_exchange_and_a_list_that_never_comes_still_make_a_session() {
    let _turn = alone().await;
    let pace = |path: &str| Duration::from_secs(if path.contains("token") { 3 } else { 0 });
    let (answer, took) = sign_in_slowly(pace, true).await;
    println!("token 3 s, list never: {} {} after {} ms", answer.status, answer.word(), took.as_millis());
    assert_eq!((answer.status, answer.word().as_str()), Heard::Session.status_and_word());
    assert!(took < WHOLE + SLACK, "{took:?}");
}

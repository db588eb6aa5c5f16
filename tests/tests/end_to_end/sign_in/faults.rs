//! The response to `POST /auth` while the platform fails, its duration and its memory use.
//!
//! `companion_identity_oauth2` tests which error each fault of a route is, and `companion_http` which response each
//! error is.

use super::{Stage, alone};
use crate::memory;
use companion_dev_identity::{DripPart, ErrorBody, Fault, Route};
use std::{
    fs,
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

/// Deadline of one call to the platform.
const CALL_DEADLINE: Duration = Duration::from_secs(5);
/// Shorter deadline of one call. `FAULTS=full` uses the default one.
const SHORT_CALL_DEADLINE: Duration = Duration::from_millis(600);
/// Deadline of a whole sign-in.
const SIGN_IN_DEADLINE: Duration = Duration::from_secs(7);
/// Maximum memory growth for all faults, in KiB.
const MAX_MEMORY_GROWTH: u64 = 32 * 1024;
/// More than could arrive before any deadline, so that only a size limit can end it.
const ENDLESS: u64 = 1 << 40;

const FAILED: (u16, &str) = (502, "provider_failed");
const TIMED_OUT: (u16, &str) = (504, "provider_timeout");
const LIMITED: (u16, &str) = (503, "provider_limited");

/// Returns every fault, and the response if the token or user route has it. After the last one the platform is not
/// called for a while.
fn faults() -> Vec<(Fault, (u16, &'static str))> {
    let drip = |part| Fault::Drip { part, every: Duration::from_millis(20) };
    let huge = |announced| Fault::Huge { bytes: ENDLESS, announced };
    let status = |status, body| Fault::Status { status, body };
    vec![
        (Fault::Silent, TIMED_OUT),
        (drip(DripPart::Head), TIMED_OUT),
        (drip(DripPart::Body), TIMED_OUT),
        (Fault::Closed, FAILED),
        (Fault::Garbage, FAILED),
        (Fault::Truncated, FAILED),
        (status(401, ErrorBody::Json), FAILED),
        (status(404, ErrorBody::Html), FAILED),
        (status(503, ErrorBody::Empty), FAILED),
        (Fault::BanPage { status: 403 }, FAILED),
        (Fault::NotJson, FAILED),
        (Fault::WrongShape, FAILED),
        (huge(true), FAILED),
        (huge(false), FAILED),
        (Fault::Bomb, FAILED),
        (Fault::Redirect { to: "http://127.0.0.1:9/elsewhere".to_owned() }, FAILED),
        (Fault::OauthError { error: "invalid_client".to_owned() }, FAILED),
        (Fault::Limited { retry_after: 30.0, global: true }, LIMITED),
    ]
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

/// Meets every fault of a route. Each is followed by a successful sign-in, which closes the breaker.
async fn meet_all(stage: &Stage, route: Route, deadline: Duration) {
    for (fault, expected) in faults() {
        // A session needs no list.
        let (status, word) = if route == Route::Guilds { (200, "") } else { expected };
        stage.control.fail(route, fault.clone());
        let begun = Instant::now();
        let answer = stage.sign_in(&stage.code()).await;
        let took = begun.elapsed();
        let what = format!("{fault:?} on {route:?}: {took:?} {}{}", answer.head, answer.body);
        assert_eq!((answer.status, answer.word().as_str()), (status, word), "{what}");
        assert_eq!(answer.header("Retry-After").is_some(), status == 503, "{what}");
        assert!(took < SIGN_IN_DEADLINE, "{what}");
        assert!(expected != TIMED_OUT || took >= deadline, "{what}");
        stage.control.clear_all();
        if expected != LIMITED {
            assert_eq!(stage.sign_in(&stage.code()).await.status, 200, "after {what}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_platform_fault_is_answered_in_time_and_bounded_memory() {
    let _turn = alone().await;
    let is_full = std::env::var("FAULTS").is_ok_and(|faults| faults == "full");
    let deadline = if is_full { CALL_DEADLINE } else { SHORT_CALL_DEADLINE };
    let mut stages = Vec::new();
    for route in [Route::Token, Route::User, Route::Guilds] {
        let stage = Stage::within(deadline).await;
        assert_eq!(stage.sign_in(&stage.code()).await.status, 200);
        stages.push((stage, route));
    }
    let memory = Measurement::begin();
    let mut meeting = JoinSet::new();
    for (stage, route) in stages {
        meeting.spawn(async move {
            meet_all(&stage, route, deadline).await;
            stage.stop().await;
        });
    }
    meeting.join_all().await;
    let growth = memory.growth();
    println!("memory growth: {growth:?} KiB");
    assert!(growth.is_none_or(|growth| growth < MAX_MEMORY_GROWTH), "{growth:?} KiB");
}

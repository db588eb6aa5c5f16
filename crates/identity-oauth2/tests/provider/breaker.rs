//! Circuit breaking, and concurrent calls.

use crate::stage::{CLIENT, Stage, kind, secret, user_id, wait_of};
use companion_dev_identity::{ErrorBody, Fault, Route};
use companion_domain::{
    model::UserId,
    port::{ClientMark, IdentityErrorKind, IdentityProvider as _},
};
use companion_identity_oauth2::{BreakerRules, BreakerState, Route as Ours};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

const RULES: BreakerRules = BreakerRules {
    failures: 3,
    within: Duration::from_secs(60),
    first_pause: Duration::from_secs(10),
    longest_pause: Duration::from_secs(30),
};
const BROKEN: Fault = Fault::Status { status: 503, body: ErrorBody::Html };

fn stage() -> Stage {
    Stage::with(|settings| settings.limits.breaker = RULES)
}

async fn fail_until_open(stage: &Stage) {
    stage.control.fail(Route::User, BROKEN);
    for _ in 0..RULES.failures {
        assert_eq!(kind(stage.provider.user(CLIENT, &secret("any")).await), IdentityErrorKind::Failed);
    }
}

#[tokio::test]
async fn consecutive_failures_open_it_and_a_probe_closes_it() {
    let stage = stage();
    let access = stage.signed_in().await.access;
    fail_until_open(&stage).await;
    assert_eq!(wait_of(stage.provider.user(CLIENT, &access).await), Duration::from_secs(10));
    assert_eq!(stage.control.calls(Route::User), 3);
    assert_eq!(stage.counted(Ours::User).breaker, BreakerState::Open);
    assert!(stage.provider.guilds(user_id(), &access).await.is_ok(), "other routes go on");
    assert!(stage.exchange(stage.code().expose()).await.is_ok());

    stage.clock.advance(Duration::from_secs(10));
    assert_eq!(kind(stage.provider.user(CLIENT, &access).await), IdentityErrorKind::Failed);
    assert_eq!(wait_of(stage.provider.user(CLIENT, &access).await), Duration::from_secs(20));
    assert_eq!(stage.control.calls(Route::User), 4);

    stage.control.clear_all();
    stage.clock.advance(Duration::from_secs(20));
    assert!(stage.provider.user(CLIENT, &access).await.is_ok());
    assert_eq!(stage.counted(Ours::User).breaker, BreakerState::Closed);
}

#[tokio::test]
async fn calls_wait_for_the_probe_and_a_cancelled_one_frees_it() {
    let stage = stage();
    let access = stage.signed_in().await.access;
    fail_until_open(&stage).await;
    stage.control.clear_all();
    stage.control.fail_times(Route::User, Fault::Silent, 1);
    stage.clock.advance(Duration::from_secs(10));
    {
        let mut trying = std::pin::pin!(stage.provider.user(CLIENT, &access));
        tokio::select! {
            _ = &mut trying => unreachable!("the platform is silent"),
            () = stage.control.called(Route::User, 4) => {}
        }
        assert_eq!(stage.counted(Ours::User).breaker, BreakerState::HalfOpen);
        assert_eq!(wait_of(stage.provider.user(CLIENT, &access).await), Duration::from_secs(1));
    }
    assert!(stage.provider.user(CLIENT, &access).await.is_ok());
}

#[tokio::test]
async fn timeouts_and_refused_connections_open_it() {
    let mut stage = stage();
    stage.control.fail(Route::User, Fault::Silent);
    let impatient = stage.impatient_provider(Duration::from_millis(100));
    for _ in 0..3 {
        assert_eq!(kind(impatient.user(CLIENT, &secret("any")).await), IdentityErrorKind::TimedOut);
    }
    wait_of(impatient.user(CLIENT, &secret("any")).await);
    stage.running.refuse_connections().await;
    for _ in 0..3 {
        assert_eq!(kind(stage.exchange("any").await), IdentityErrorKind::Unreachable);
    }
    wait_of(stage.exchange("any").await);
}

#[tokio::test]
async fn proper_refusals_do_not_open_the_breaker() {
    let stage = stage();
    for _ in 0..10 {
        assert_eq!(kind(stage.exchange("bad").await), IdentityErrorKind::BadGrant);
        assert_eq!(kind(stage.provider.user(CLIENT, &secret("bad")).await), IdentityErrorKind::TokenRefused);
    }
    stage.control.fail(Route::Token, Fault::Status { status: 400, body: ErrorBody::Json });
    for _ in 0..10 {
        assert_eq!(kind(stage.exchange("odd").await), IdentityErrorKind::Failed);
    }
    stage.control.clear_all();
    assert!(stage.exchange(stage.code().expose()).await.is_ok());
}

#[tokio::test]
async fn a_ban_page_opens_all_breakers() {
    let stage = stage();
    stage.control.fail(Route::User, Fault::BanPage { status: 403 });
    let access = stage.signed_in().await.access;
    for _ in 0..3 {
        assert_eq!(kind(stage.provider.user(CLIENT, &access).await), IdentityErrorKind::Failed);
    }
    assert_eq!(wait_of(stage.provider.user(CLIENT, &access).await), RULES.first_pause);
    assert_eq!(stage.control.calls(Route::User), 3);
    // The ban concerns our address, so the other routes are not called either.
    assert_eq!(wait_of(stage.provider.guilds(user_id(), &access).await), RULES.first_pause);
    assert_eq!(wait_of(stage.provider.revoke(&access).await), RULES.first_pause);
    assert_eq!(wait_of(stage.exchange(stage.code().expose()).await), RULES.first_pause);
}

#[tokio::test]
async fn a_refusal_page_on_one_route_is_not_a_ban() {
    let stage = stage();
    stage.control.fail(Route::User, Fault::BanPage { status: 403 });
    for _ in 0..3 {
        let access = stage.signed_in().await.access;
        assert_eq!(kind(stage.provider.user(CLIENT, &access).await), IdentityErrorKind::Failed);
    }
    assert_eq!(stage.counted(Ours::User).breaker, BreakerState::Open);
    assert!(stage.exchange(stage.code().expose()).await.is_ok(), "exchanges worked all the time");
}

/// Responses that concern one user only: a rejected token, a refusal, and invalid content.
fn single_user_refusals() -> [(Fault, IdentityErrorKind); 4] {
    [
        (Fault::Status { status: 401, body: ErrorBody::Json }, IdentityErrorKind::TokenRefused),
        (Fault::Status { status: 403, body: ErrorBody::Json }, IdentityErrorKind::Failed),
        (Fault::WrongShape, IdentityErrorKind::Failed),
        (Fault::NotJson, IdentityErrorKind::Failed),
    ]
}

#[tokio::test]
async fn refusals_of_three_users_open_it_but_not_of_one() {
    for (fault, expected) in single_user_refusals() {
        for (route, ours) in [(Route::User, Ours::User), (Route::Guilds, Ours::Guilds)] {
            let stage = stage();
            let access = stage.signed_in().await.access;
            let call = async |caller: u64| match route {
                Route::User => stage.provider.user(ClientMark(caller), &access).await.map(drop),
                _ => stage.provider.guilds(UserId::new(caller).unwrap(), &access).await.map(drop),
            };
            let state = || stage.counted(ours).breaker;
            stage.control.fail(route, fault.clone());
            for _ in 0..5 {
                assert_eq!(kind(call(1).await), expected, "{fault:?} {route:?}");
            }
            assert_eq!(state(), BreakerState::Closed, "{fault:?} {route:?}");
            for caller in [2, 3] {
                assert_eq!(kind(call(caller).await), expected, "{fault:?} {route:?}");
            }
            assert_eq!(state(), BreakerState::Open, "{fault:?} {route:?}");
            assert_eq!(wait_of(call(4).await), RULES.first_pause, "{fault:?} {route:?}");
            assert_eq!(stage.control.calls(route), 7, "{fault:?} {route:?}");
        }
    }
}

#[tokio::test]
async fn a_hung_route_fills_its_bulkhead_only() {
    let stage = Arc::new(Stage::with(|settings| {
        settings.limits.max_concurrent_calls = 4;
        settings.deadlines.slot = Duration::from_millis(50);
    }));
    let access = stage.signed_in().await.access;
    stage.control.fail(Route::User, Fault::Silent);
    let mut hanging = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let stage = Arc::clone(&stage);
        hanging.spawn(async move { stage.provider.user(CLIENT, &secret("any")).await });
    }
    stage.control.called(Route::User, 4).await;

    let started = Instant::now();
    assert_eq!(wait_of(stage.provider.user(CLIENT, &access).await), Duration::from_secs(1));
    assert!(started.elapsed() >= Duration::from_millis(50) && started.elapsed() < Duration::from_secs(3));
    assert_eq!(stage.control.calls(Route::User), 4);
    assert!(stage.provider.guilds(user_id(), &access).await.is_ok());
    assert!(stage.exchange(stage.code().expose()).await.is_ok());

    // A cancelled call frees its slot.
    stage.control.clear_all();
    hanging.shutdown().await;
    assert!(stage.provider.user(CLIENT, &access).await.is_ok());
    assert_eq!(stage.counted(Ours::User).limited, 1);
}

#[tokio::test]
async fn rejects_calls_at_once_beyond_the_waiting_limit() {
    let stage = Stage::with(|settings| {
        settings.limits.max_concurrent_calls = 2;
        settings.deadlines.slot = Duration::from_secs(3600);
    });
    let access = stage.signed_in().await.access;
    stage.control.fail(Route::User, Fault::Silent);
    let mut calls: Vec<_> =
        (0..4).map(|_| Box::pin(async { stage.provider.user(CLIENT, &access).await })).collect();
    for call in &mut calls {
        tokio::select! {
            biased;
            _ = call => panic!("the platform is silent"),
            () = std::future::ready(()) => {}
        }
    }
    assert_eq!(wait_of(stage.provider.user(CLIENT, &access).await), Duration::from_secs(1));
    drop(calls);
    stage.control.clear_all();
    assert!(stage.provider.user(CLIENT, &access).await.is_ok());
}

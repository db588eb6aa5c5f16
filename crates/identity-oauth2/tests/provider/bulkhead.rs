//! Calls at the same time.

use crate::stage::{ANYONE, Stage, secret, user_id, wait_of};
use companion_dev_identity::{Fault, Route};
use companion_domain::port::IdentityProvider as _;
use companion_identity_oauth2::Route as Ours;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

#[tokio::test]
async fn a_route_that_hangs_takes_so_many_calls_and_leaves_the_other_routes_alone() {
    let stage = Arc::new(Stage::with(|settings| {
        settings.limits.calls_at_once = 4;
        settings.deadlines.place = Duration::from_millis(50);
    }));
    let access = stage.signed_in().await.access;
    stage.control.fail(Route::User, Fault::Silent);
    let mut hanging = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let stage = Arc::clone(&stage);
        hanging.spawn(async move { stage.provider.user(ANYONE, &secret("any")).await });
    }
    stage.control.called(Route::User, 4).await;

    let started = Instant::now();
    assert_eq!(wait_of(stage.provider.user(ANYONE, &access).await), Duration::from_secs(1));
    assert!(started.elapsed() >= Duration::from_millis(50) && started.elapsed() < Duration::from_secs(3));
    assert_eq!(stage.control.calls(Route::User), 4);
    assert!(stage.provider.guilds(user_id(), &access).await.is_ok());
    assert!(stage.exchange(stage.code().expose()).await.is_ok());

    // Whoever gives up makes room.
    stage.control.clear_all();
    hanging.shutdown().await;
    assert!(stage.provider.user(ANYONE, &access).await.is_ok());
    assert_eq!(stage.provider.statistics().of(Ours::User).limited, 1);
}

#[tokio::test]
async fn as_many_wait_for_a_place_as_may_call_and_the_next_is_refused_at_once() {
    let stage = Stage::with(|settings| {
        settings.limits.calls_at_once = 2;
        settings.deadlines.place = Duration::from_secs(3600);
    });
    let access = stage.signed_in().await.access;
    stage.control.fail(Route::User, Fault::Silent);
    let mut calls: Vec<_> =
        (0..4).map(|_| Box::pin(async { stage.provider.user(ANYONE, &access).await })).collect();
    for call in &mut calls {
        tokio::select! {
            biased;
            _ = call => panic!("nobody has answered yet"),
            () = std::future::ready(()) => {}
        }
    }
    assert_eq!(wait_of(stage.provider.user(ANYONE, &access).await), Duration::from_secs(1));
    drop(calls);
    stage.control.clear_all();
    assert!(stage.provider.user(ANYONE, &access).await.is_ok());
}

//! How old a list is, and what becomes of it while the platform gives no other.

use super::{
    guild::{Guild, MANAGING},
    stage::{ALMOST, MOMENT, NEXT_TRY, OTHER, REFRESH_AFTER, STALE_FOR, Stage, USER},
};
use companion_dev_identity::{ErrorBody, Fault, Route};
use std::time::Duration;

const GUILD: Guild = Guild(500);
const SECOND: Duration = Duration::from_secs(1);

async fn stage_with_owner() -> (Stage, String) {
    let stage = Stage::new().await;
    stage.reports(GUILD, &[]).await;
    let token = stage.arrives(USER, vec![GUILD.joined(true, 0)]).await;
    (stage, token)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_age_is_that_of_the_platforms_list_and_never_a_minute_while_the_platform_is_well() {
    let (stage, token) = stage_with_owner().await;
    let calls = stage.control.all_calls();
    assert_eq!(stage.shown(&token).await.age, 0);
    stage.pass(Duration::from_millis(41_700));
    assert_eq!(stage.shown(&token).await.age, 41);
    // What the bot reports makes the platform's list no younger.
    stage.reports(GUILD, &[("MOD", 71)]).await;
    assert_eq!(stage.shown(&token).await.age, 41);
    stage.pass(ALMOST - Duration::from_millis(41_700));
    assert_eq!(stage.shown(&token).await.age, 59);
    assert_eq!(stage.control.all_calls(), calls, "a list younger than a minute costs no call");
    stage.pass(MOMENT);
    assert_eq!(stage.shown_afresh(&token).await.guilds, [GUILD.shown("Owner", &MANAGING)]);
    assert_eq!(stage.control.calls(Route::Guilds), calls[&Route::Guilds] + 1);
    stage.pass(SECOND);
    assert_eq!(stage.shown(&token).await.age, 1);
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sessions_of_one_user_share_one_list() {
    let (stage, first) = stage_with_owner().await;
    stage.pass(ALMOST);
    let second = stage.signs_in(USER).await;
    stage.pass(SECOND);
    let calls = stage.control.calls(Route::Guilds);
    assert_eq!([stage.shown(&first).await.age, stage.shown(&second).await.age], [1, 1]);
    assert_eq!(stage.control.calls(Route::Guilds), calls);
    stage.stop().await;
}

/// The last list is served with its age until it is a day old; from then on there is 503, until the platform is back.
async fn served_for_a_day(stage: Stage, token: String, recover: impl AsyncFnOnce(Stage) -> Stage) {
    stage.control.set_guilds(USER, Vec::new());
    let mut age = REFRESH_AFTER.as_secs();
    stage.pass(REFRESH_AFTER);
    for length in [Duration::ZERO, NEXT_TRY, STALE_FOR - REFRESH_AFTER - NEXT_TRY - SECOND] {
        stage.pass(length);
        age += length.as_secs();
        let shown = stage.shown(&token).await;
        assert_eq!((shown.guilds, shown.age), (vec![GUILD.shown("Owner", &MANAGING)], age));
    }
    stage.pass(SECOND);
    for _ in 0..2 {
        let late = stage.ask(&token).await;
        assert_eq!((late.status, late.word().as_str()), (503, "provider_limited"), "{}", late.body);
        let wait: u64 = late.header("Retry-After").unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
        stage.pass(NEXT_TRY);
    }
    let stage = recover(stage).await;
    stage.pass(REFRESH_AFTER);
    // The session outlived all of it.
    assert!(stage.shown_afresh(&token).await.guilds.is_empty());
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_platform_limits_us_the_last_list_is_served_for_a_day() {
    let (stage, token) = stage_with_owner().await;
    stage.control.fail(Route::Guilds, Fault::Limited { retry_after: 30.0, global: false });
    served_for_a_day(stage, token, async |stage| {
        stage.control.clear_all();
        stage
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_platform_fails_the_last_list_is_served_for_a_day() {
    let (stage, token) = stage_with_owner().await;
    stage.control.fail(Route::Guilds, Fault::Status { status: 500, body: ErrorBody::Json });
    served_for_a_day(stage, token, async |stage| {
        stage.control.clear_all();
        stage
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_platform_cannot_be_reached_the_last_list_is_served_for_a_day() {
    let (mut stage, token) = stage_with_owner().await;
    stage.platform.refuse_connections().await;
    served_for_a_day(stage, token, async |mut stage| {
        stage.platform.accept_again().unwrap();
        stage
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_for_one_user_is_obeyed_for_as_long_as_it_says_and_concerns_nobody_else() {
    let (stage, token) = stage_with_owner().await;
    let other = stage.arrives(OTHER, vec![GUILD.joined(true, 0)]).await;
    stage.pass(REFRESH_AFTER);
    stage.control.fail_times(Route::Guilds, Fault::Limited { retry_after: 600.0, global: false }, 1);
    assert_eq!(stage.shown(&token).await.age, 60);
    let calls = stage.control.calls(Route::Guilds);
    stage.pass(Duration::from_secs(599));
    assert_eq!(stage.shown(&token).await.age, 659);
    assert_eq!(stage.control.calls(Route::Guilds), calls, "nothing is asked in that user's name");
    stage.shown_afresh(&other).await;
    // The limit is over, and so is the claim of the request before.
    stage.pass(NEXT_TRY);
    stage.shown_afresh(&token).await;
    stage.stop().await;
}

//! The user takes back at the platform what was granted there.

use super::{must_sign_in_again, owned, two_arrive};
use crate::rights::stage::{ALMOST, MOMENT, REFRESH_AFTER, Stage, USER};
use companion_dev_identity::{ErrorBody, Fault, Route};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_that_the_user_took_back_ends_their_sessions_at_the_next_refresh_and_nobody_elses() {
    let stage = Stage::new().await;
    let (first, other) = two_arrive(&stage).await;
    let second = stage.signs_in(USER).await;
    stage.control.end_authorisation(USER);
    stage.pass(ALMOST);
    for token in [&first, &second] {
        assert_eq!(stage.shown(token).await.guilds, owned());
    }
    stage.pass(MOMENT);
    must_sign_in_again(&stage, &first).await;
    assert_eq!(stage.ask(&second).await.status, 401);
    assert_eq!(stage.shown_afresh(&other).await.guilds, owned());
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_access_token_that_expired_is_renewed_without_anyone_noticing() {
    let stage = Stage::new().await;
    let (token, _) = two_arrive(&stage).await;
    // Ahead of time, as far as we know; and then in time, again and again, always with the newest refresh token.
    stage.control.expire_access(Some(USER));
    stage.pass(REFRESH_AFTER);
    assert_eq!(stage.shown_afresh(&token).await.guilds, owned());
    assert_eq!(stage.control.calls_of(USER).renewals, 1);
    for renewals in 2..5 {
        for _ in 0..7 {
            stage.pass(Duration::from_secs(24 * 60 * 60));
            assert_eq!(stage.shown_afresh(&token).await.guilds, owned());
        }
        assert_eq!(stage.control.calls_of(USER).renewals, renewals);
    }
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_endpoint_that_fails_ends_nobodys_session() {
    let stage = Stage::new().await;
    let (token, _) = two_arrive(&stage).await;
    let faults = [
        Fault::Status { status: 500, body: ErrorBody::Html },
        Fault::Status { status: 401, body: ErrorBody::Json },
        Fault::OauthError { error: "invalid_client".to_owned() },
        Fault::OauthError { error: "invalid_request".to_owned() },
        Fault::BanPage { status: 403 },
        Fault::Limited { retry_after: 5.0, global: true },
        Fault::NotJson,
    ];
    stage.control.expire_access(Some(USER));
    for fault in faults {
        stage.pass(REFRESH_AFTER);
        let what = format!("{fault:?}");
        stage.control.fail_times(Route::Token, fault, 1);
        let calls = stage.control.calls(Route::Token);
        assert_eq!(stage.shown(&token).await.guilds, owned(), "{what}");
        assert_eq!(stage.control.calls(Route::Token), calls + 1, "{what}");
    }
    stage.pass(REFRESH_AFTER);
    assert_eq!(stage.shown_afresh(&token).await.guilds, owned());
    stage.stop().await;
}

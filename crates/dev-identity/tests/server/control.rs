//! The control interface as another process uses it, and the counters. Faults are met by the tests of the identity
//! provider.

use crate::{Browser, OWNER, exchange, me, refresh, start, start_with};
use actix_web::body::BodySize;
use companion_dev_identity::{Fault, Options, Route, UserCalls};
use std::time::Duration;

#[tokio::test]
async fn issues_codes_and_plans_faults_over_http() {
    let (_, browser) = start();
    let user = format!(r#"{{"user": "{OWNER}"}}"#);
    let code = browser.json("POST", "/control/codes", &user).await.text("code");
    let access = exchange(&browser, &code).await.text("access_token");
    for (times, statuses) in [("1", [503, 200]), ("null", [503, 503])] {
        let fault = format!(r#"{{"kind": "status", "status": 503, "body": "json", "times": {times}}}"#);
        assert_eq!(browser.json("POST", "/control/faults/user", &fault).await.status, 204);
        let answers = [me(&browser, &access).await, me(&browser, &access).await];
        assert_eq!(answers.map(|answer| answer.status), statuses, "{times}");
    }
    assert_eq!(browser.json("DELETE", "/control/faults", "").await.status, 204);
    assert_eq!(me(&browser, &access).await.status, 200);
}

#[tokio::test]
async fn refuses_malformed_control_requests_without_changes() {
    let (_, browser) = start();
    for (path, body, status) in [
        ("/control/codes", r#"{"user": "sample_owner"}"#, 400),
        ("/control/faults/user", r#"{"kind": "sulk"}"#, 400),
        ("/control/faults/nowhere", r#"{"kind": "silent"}"#, 404),
    ] {
        assert_eq!(browser.json("POST", path, body).await.status, status, "{path}");
    }
    let foreign = [("Content-Type", "text/plain")];
    let refused = browser.send("POST", "/control/faults/user", &foreign, r#"{"kind": "silent"}"#).await;
    assert_ne!(refused.status, 204, "a foreign page cannot send JSON");
    assert_eq!(me(&browser, "any").await.status, 401, "no fault was planned");
}

#[tokio::test]
async fn refuses_control_requests_for_other_hosts() {
    let (_, browser) = start();
    let clear = async |host: &str| browser.send("DELETE", "/control/faults", &[("Host", host)], "").await;
    for host in ["127.0.0.1", "[::1]", "localhost", "LocalHost", "127.0.0.2"] {
        for host in [host.to_owned(), format!("{host}:8083")] {
            assert_eq!(clear(&host).await.status, 204, "{host}");
        }
    }
    // DNS rebinding: a foreign page whose host resolves to this machine sends requests under its own name.
    for host in [
        "rebound.example",
        "localhost.example",
        "127.0.0.1.example",
        "192.0.2.1",
        "0.0.0.0",
        "[::]",
        "",
        "localhost@x",
    ] {
        for host in [host.to_owned(), format!("{host}:8083")] {
            let refused = clear(&host).await;
            assert_eq!(refused.status, 403, "{host}");
            assert!(refused.text("message").contains("localhost"), "{host}");
        }
    }
    let elsewhere = browser.json("DELETE", "http://rebound.example/control/faults", "").await;
    assert_eq!(elsewhere.status, 403, "wherever the name stands");
}

#[tokio::test]
async fn huge_responses_have_the_given_size() {
    let (control, browser) = start();
    for announced in [true, false] {
        control.fail_times(Route::User, Fault::Huge { bytes: 3 << 20, announced }, 1);
        let huge = me(&browser, "any").await;
        assert_eq!((huge.body.len(), huge.size == BodySize::Sized(3 << 20)), (3 << 20, announced));
    }
}

async fn guilds(browser: &Browser, access: &str) -> crate::Answer {
    browser.get("/api/v10/users/@me/guilds", &[("Authorization", &format!("Bearer {access}"))]).await
}

#[tokio::test]
async fn counts_calls_by_user_and_responses_by_status() {
    let (control, browser) = start();
    let (one, other) = (OWNER, OWNER + 1);
    let tokens = exchange(&browser, &control.mint_code(one)).await;
    let access = tokens.text("access_token");
    assert_eq!(guilds(&browser, &access).await.status, 200);
    let renewed = refresh(&browser, &tokens.text("refresh_token")).await;
    assert_eq!(guilds(&browser, &access).await.status, 401);
    control.expire_access(Some(one));
    // An expired token still counts for its user.
    assert_eq!(guilds(&browser, &renewed.text("access_token")).await.status, 401);
    assert_eq!(refresh(&browser, "unheard-of").await.status, 400);
    assert_eq!(control.calls_of(one), UserCalls { guilds: 2, renewals: 1, most_at_once: 1 });
    assert_eq!(control.calls_of(other), UserCalls::default());
    let counted: Vec<_> = control.answers().into_iter().collect();
    let expected = [
        ((Route::Token, 200), 2),
        ((Route::Token, 400), 1),
        ((Route::Guilds, 200), 1),
        ((Route::Guilds, 401), 2),
    ];
    assert_eq!(counted, expected);
}

#[tokio::test]
async fn counts_concurrent_calls_of_one_user() {
    let (control, browser) = start();
    let access = exchange(&browser, &control.mint_code(OWNER)).await.text("access_token");
    let held = control.hold(Route::Guilds);
    let release = async {
        control.called(Route::Guilds, 3).await;
        drop(held);
    };
    let call = || guilds(&browser, &access);
    tokio::join!(call(), call(), call(), release);
    assert_eq!(control.calls_of(OWNER).most_at_once, 3);
}

#[tokio::test]
async fn a_stopped_clock_advances_only_manually() {
    let options =
        Options { access_lifetime: Duration::from_micros(1), clock_stands_still: true, ..Options::default() };
    let (control, browser) = start_with(options);
    let access = exchange(&browser, &control.mint_code(OWNER)).await.text("access_token");
    assert_eq!(me(&browser, &access).await.status, 200);
    control.forward(Duration::from_micros(1));
    assert_eq!(me(&browser, &access).await.status, 401);
}

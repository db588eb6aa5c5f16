//! The control interface as another process uses it, faults with a response, and the counters. Those without one are met by
//! the tests of the identity provider.

use crate::{Browser, OWNER, exchange, me, refresh, start, start_with};
use companion_dev_identity::{AccountGuild, ErrorBody, Fault, Options, Route, UserCalls};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn issues_codes_and_plans_faults_over_http() {
    let (_running, browser) = start();
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
    let (_running, browser) = start();
    for (path, body, status) in [
        ("/control/codes", r#"{"user": "sample_owner"}"#, 400),
        ("/control/faults/user", r#"{"kind": "sulk"}"#, 400),
        ("/control/faults/nowhere", r#"{"kind": "silent"}"#, 404),
    ] {
        assert_eq!(browser.json("POST", path, body).await.status, status, "{path}");
    }
    let foreign = [("Content-Type", "text/plain")];
    let refused = browser.send("POST", "/control/faults/user", &foreign, r#"{"kind": "silent"}"#).await;
    assert_ne!(refused.unwrap().status, 204, "a foreign page cannot send JSON");
    assert_eq!(me(&browser, "any").await.status, 401, "no fault was planned");
}

#[tokio::test]
async fn refuses_control_requests_for_other_hosts() {
    let (running, browser) = start();
    let port = running.address().port();
    let clear =
        async |host: &str| browser.send("DELETE", "/control/faults", &[("Host", host)], "").await.unwrap();
    for host in ["127.0.0.1", "[::1]", "localhost", "LocalHost", "127.0.0.2"] {
        for host in [host.to_owned(), format!("{host}:{port}")] {
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
        for host in [host.to_owned(), format!("{host}:{port}")] {
            let refused = clear(&host).await;
            assert_eq!(refused.status, 403, "{host}");
            assert!(refused.text("message").contains("localhost"), "{host}");
        }
    }
    let elsewhere = browser.json("DELETE", "http://rebound.example/control/faults", "").await;
    assert_eq!(elsewhere.status, 403, "wherever the name stands");
}

#[tokio::test]
async fn each_response_fault_returns_its_response() {
    let (running, browser) = start();
    let control = running.control();
    let status = |status, body| Fault::Status { status, body };
    let cases = [
        (status(500, ErrorBody::Json), 500, Some("application/json")),
        (status(502, ErrorBody::Html), 502, Some("text/html; charset=utf-8")),
        (status(404, ErrorBody::Empty), 404, None),
        (Fault::BanPage { status: 403 }, 403, Some("text/html; charset=utf-8")),
        (Fault::Limited { retry_after: 1.5, global: true }, 429, Some("application/json")),
        (Fault::NotJson, 200, Some("application/json")),
        (Fault::WrongShape, 200, Some("application/json")),
        (Fault::Redirect { to: "http://127.0.0.1:9/".to_owned() }, 302, None),
        (Fault::OauthError { error: "invalid_grant".to_owned() }, 400, Some("application/json")),
        (Fault::OauthError { error: "invalid_client".to_owned() }, 401, Some("application/json")),
        (Fault::Bomb, 200, Some("application/json")),
        (Fault::Body { status: 200, json: json!({"id": "1"}) }, 200, Some("application/json")),
    ];
    for (fault, status, kind) in cases {
        control.fail_times(Route::User, fault.clone(), 1);
        let answer = me(&browser, "any").await;
        assert_eq!((answer.status, answer.header("content-type")), (status, kind), "{fault:?}");
        if let Fault::Limited { .. } = fault {
            assert_eq!(answer.header("retry-after"), Some("2"));
            assert_eq!(answer.header("x-ratelimit-global"), Some("true"));
            assert_eq!(answer.json()["retry_after"], 1.5);
        }
    }
    assert_eq!(me(&browser, "any").await.status, 401);
    assert_eq!(control.calls(Route::User), 13);
}

#[tokio::test]
async fn huge_responses_have_the_given_size() {
    let (running, browser) = start();
    let bytes = 3 << 20;
    running.control().fail_times(Route::User, Fault::Huge { bytes, announced: true }, 1);
    let announced = me(&browser, "any").await;
    assert_eq!(announced.header("content-length"), Some(bytes.to_string().as_str()));
    assert_eq!(announced.body.len() as u64, bytes);
    running.control().fail_times(Route::User, Fault::Huge { bytes, announced: false }, 1);
    let streamed = me(&browser, "any").await;
    assert_eq!(streamed.header("content-length"), None);
    assert!(streamed.body.len() as u64 >= bytes);
}

async fn guilds(browser: &Browser, access: &str) -> crate::Answer {
    browser.get("/api/v10/users/@me/guilds", &[("Authorization", &format!("Bearer {access}"))]).await
}

#[tokio::test]
async fn counts_calls_by_user_and_responses_by_status() {
    let (running, browser) = start();
    let control = running.control();
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
    let (running, browser) = start();
    let control = running.control();
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
async fn guilds_of_a_user_change_at_runtime() {
    let (running, browser) = start();
    let control = running.control();
    let access = exchange(&browser, &control.mint_code(OWNER)).await.text("access_token");
    let guild = AccountGuild { id: 77, name: "New".to_owned(), icon: None, owner: false, permissions: 8 };
    assert!(control.set_guilds(OWNER, vec![guild]));
    let listed = guilds(&browser, &access).await.json();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["id"]), (1, &"77".into()));
    assert!(!control.set_guilds(1, Vec::new()));
}

#[tokio::test]
async fn a_stopped_clock_advances_only_manually() {
    let options =
        Options { access_lifetime: Duration::from_micros(1), clock_stands_still: true, ..Options::default() };
    let (running, browser) = start_with(options);
    let control = running.control();
    let access = exchange(&browser, &control.mint_code(OWNER)).await.text("access_token");
    assert_eq!(me(&browser, &access).await.status, 200);
    control.forward(Duration::from_micros(1));
    assert_eq!(me(&browser, &access).await.status, 401);
}

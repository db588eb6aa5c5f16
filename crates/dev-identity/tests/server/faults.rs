//! Every way to fail, as it looks on the wire.

use crate::{exchange, me, start};
use companion_dev_identity::{DripPart, ErrorBody, Fault, PlannedFault, Route};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn each_fault_that_is_an_answer_is_that_answer() {
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
async fn huge_answers_are_as_huge_as_they_say() {
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

#[tokio::test]
async fn each_fault_that_is_no_answer_is_none() {
    let (running, browser) = start();
    let control = running.control();
    control.fail_times(Route::User, Fault::Closed, 1);
    assert!(browser.try_get("/api/v10/users/@me").await.is_err());
    control.fail_times(Route::User, Fault::Garbage, 1);
    assert!(browser.try_get("/api/v10/users/@me").await.is_err());
    control.fail_times(Route::User, Fault::Truncated, 1);
    let truncated = me(&browser, "any").await;
    assert_eq!(truncated.header("content-length"), Some("500"));
    assert!(truncated.body.len() < 500);

    let every = Duration::from_millis(1);
    let stuck = [
        Fault::Silent,
        Fault::Drip { part: DripPart::Head, every },
        Fault::Drip { part: DripPart::Body, every },
    ];
    for fault in stuck {
        control.fail_times(Route::Guilds, fault.clone(), 1);
        let asking = browser.try_get("/api/v10/users/@me/guilds");
        let answered = tokio::time::timeout(Duration::from_millis(100), asking).await;
        assert!(answered.is_err(), "{fault:?}: {answered:?}");
    }
    assert_eq!(control.calls(Route::Guilds), 3);
}

#[tokio::test]
async fn a_spoilt_answer_can_follow_what_was_asked_for() {
    let (running, browser) = start();
    let control = running.control();
    let code = control.mint_code(control.users()[0].id);
    let fault = Fault::Status { status: 500, body: ErrorBody::Json };
    control.plan(Route::Token, PlannedFault { fault: fault.clone(), times: Some(1), processed: true });
    assert_eq!(exchange(&browser, &code).await.status, 500);
    assert_eq!(exchange(&browser, &code).await.error(), (400, "invalid_grant".to_owned()));

    let code = control.mint_code(control.users()[0].id);
    control.fail_times(Route::Token, fault, 1);
    assert_eq!(exchange(&browser, &code).await.status, 500);
    assert_eq!(exchange(&browser, &code).await.status, 200);
}

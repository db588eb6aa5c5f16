//! The shape of the audit trail, to the letter: programs read it, so that a change here is a change for those who run them.

use super::{delete, put, sync};
use crate::{
    captured_log::{Lines, listening_to_json},
    sample,
    service::{FEED_KEY, Service, post_code},
};
use actix_web::test::TestRequest;
use companion_http::audit::{Audit, EXPIRE};
use companion_testkit::world::{a_user, user_id};
use serde_json::Value;
use std::{num::NonZeroU32, time::Duration};

/// The lines of the trail as they were written, with the time and the sessions made the same for every run.
fn lines(log: &Lines) -> Vec<String> {
    let log = log.take();
    let of_trail = log.lines().filter(|line| line.contains(r#""target":"companion::audit""#));
    of_trail
        .map(|line| {
            let event: Value = serde_json::from_str(line).unwrap();
            let mut line = line.replace(event["timestamp"].as_str().unwrap(), "TIME");
            if let Some(session) = event["session"].as_str() {
                for one in session.split(',') {
                    assert_eq!(one.len(), 8, "{session}");
                    line = line.replace(one, "SESSION");
                }
            }
            line
        })
        .collect()
}

fn named(request: TestRequest) -> TestRequest {
    request.insert_header(("X-Request-Id", "the-one")).peer_addr(([192, 0, 2, 17], 5000).into())
}

const HEAD: &str = r#"{"timestamp":"TIME","level":"INFO","message":"audit","#;
const TAIL: &str = r#","client":"192.0.2.17","request_id":"the-one","target":"companion::audit"}"#;

#[track_caller]
fn told(log: &Lines, expected: &[&str]) {
    let expected: Vec<_> = expected.iter().map(|line| format!("{HEAD}{line}{TAIL}")).collect();
    assert_eq!(lines(log), expected);
}

#[actix_web::test]
async fn the_lines_of_sessions_and_people_are_these() {
    let service = Service::with(|plan| {
        plan.public.sign_out = true;
        plan.rules.limits.per_user = NonZeroU32::MIN;
    })
    .await;
    let (log, _guard) = listening_to_json();
    let sign_in = || named(post_code(&service.code_of(a_user(1), vec![])));

    service.call(sign_in()).await;
    told(&log, &[r#""action":"sign_in","outcome":"success","by":"user","user":"1","session":"SESSION""#]);

    let token = service.call(sign_in()).await.data()["token"].as_str().unwrap().to_owned();
    told(
        &log,
        &[
            r#""action":"end_over_cap","outcome":"success","by":"service","user":"1","session":"SESSION","added":0,"changed":0,"removed":1"#,
            r#""action":"sign_in","outcome":"success","by":"user","user":"1","session":"SESSION""#,
        ],
    );

    service.call(named(TestRequest::delete().uri("/auth").insert_header(("Token", &*token)))).await;
    told(
        &log,
        &[
            r#""action":"sign_out","outcome":"success","by":"user","user":"1","session":"SESSION","added":0,"changed":0,"removed":1"#,
        ],
    );

    service.call(sign_in()).await;
    service.memory.clock.advance(Duration::from_secs(31 * 24 * 60 * 60));
    let _ = lines(&log);
    service.call(sign_in()).await;
    told(
        &log,
        &[
            r#""action":"expire_session","outcome":"success","by":"service","user":"1","session":"SESSION","added":0,"changed":0,"removed":1"#,
            r#""action":"sign_in","outcome":"success","by":"user","user":"1","session":"SESSION""#,
        ],
    );

    service.manage(named(delete("/users/1"))).await;
    told(
        &log,
        &[
            r#""action":"forget_user","outcome":"success","by":"key","key":"management.key","user":"1","session":"SESSION","added":0,"changed":0,"removed":2"#,
        ],
    );

    let bearer = ("Authorization", format!("Bearer {FEED_KEY}"));
    let staff = put("/bot/staff/5", &serde_json::json!({"permissions": ["SUPPORT"]}));
    service.call_management(named(staff).insert_header(bearer.clone())).await;
    told(
        &log,
        &[
            r#""action":"put_staff","outcome":"success","by":"key","key":"bot","user":"5","added":1,"changed":0,"removed":0"#,
        ],
    );
    service.call_management(named(delete("/users/1")).insert_header(bearer)).await;
    told(&log, &[r#""action":"use_management_key","outcome":"key_scope_missing","by":"key","key":"bot""#]);
    service.manage(named(sync("", &sample::world()))).await;
    told(
        &log,
        &[
            r#""action":"sync","outcome":"success","by":"key","key":"management.key","added":6,"changed":0,"removed":0"#,
        ],
    );
}

#[actix_web::test]
async fn a_line_of_the_service_itself_has_no_request() {
    let service = Service::new().await;
    service.signed_in(vec![]).await;
    let sessions = service.use_cases.sessions.of_user(user_id(1)).await.unwrap();
    let (log, _guard) = listening_to_json();
    Audit::by_service(EXPIRE).ended(&sessions[0]);
    let line = r#""action":"expire_session","outcome":"success","by":"service","user":"1","session":"SESSION","added":0,"changed":0,"removed":1,"target":"companion::audit"}"#;
    assert_eq!(lines(&log), [format!("{HEAD}{line}")]);
}

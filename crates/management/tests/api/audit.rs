//! The audit trail: what is audited, and the exact format of its events. Programs parse them, so a change here affects
//! operators.

use crate::{
    captured_log::{Lines, listening_to_json},
    delete, put, sample,
    service::{FEED_KEY, Fault, Service, post_code},
    sync,
};
use actix_web::test::TestRequest;
use companion_domain::port::{Record, StoreErrorKind};
use companion_http::audit::{Audit, EXPIRE};
use companion_testkit::{
    conformance::prepared::remove_grants,
    world::{a_user, user_id},
};
use serde_json::{Value, json};
use std::{num::NonZeroU32, time::Duration};

/// Returns the events of the trail, without the fields that the subscriber adds.
fn trail(lines: &Lines) -> Vec<Value> {
    let events = lines.take();
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_trail = events.filter(|event| event["target"] == "companion::audit");
    of_trail
        .map(|mut event| {
            assert_eq!(event["level"], "INFO");
            assert!(event["timestamp"].is_string());
            let fields = event.as_object_mut().unwrap();
            for added in ["level", "target", "timestamp", "message"] {
                fields.remove(added);
            }
            event
        })
        .collect()
}

/// Returns the event of a success with the management key.
fn by_key(action: &str, [added, changed, removed]: [u64; 3], about: &[(&str, Option<&str>)]) -> Value {
    let mut line = json!({
        "action": action, "outcome": "success", "by": "key", "key": "management.key", "added": added, "changed": changed,
        "removed": removed, "request_id": "the-one",
    });
    for (name, value) in about.iter().filter_map(|(name, value)| Some((name, (*value)?))) {
        line[*name] = json!(value);
    }
    line
}

fn named(request: TestRequest) -> TestRequest {
    request.insert_header(("X-Request-Id", "the-one"))
}

#[actix_web::test]
async fn audits_every_refused_sign_in() {
    let service = Service::with(|plan| plan.public.sign_out = true).await;
    let (lines, _guard) = listening_to_json();
    let refused =
        |word: &str| json!({"action": "sign_in", "outcome": word, "by": "user", "request_id": "the-one"});
    for (request, word) in [
        (post_code("wrong"), "idp_code_invalid"),
        (TestRequest::post().uri("/auth"), "idp_code_missing"),
        (post_code("a").append_header(("Idp-Code", "b")), "header_invalid"),
        (post_code("a").insert_header(("Origin", "https://other.example")), "origin_refused"),
    ] {
        service.call(named(request)).await;
        assert_eq!(trail(&lines), [refused(word)]);
    }
    service.put(Record::Blocked(user_id(1))).await;
    let code = service.code_of(a_user(1), vec![]);
    service.call(named(post_code(&code))).await.assert_error(403, "blocked");
    let blocked = json!({"action": "sign_in", "outcome": "blocked", "by": "user", "user": "1", "request_id": "the-one"});
    assert_eq!(trail(&lines), [blocked]);

    service.call(named(TestRequest::delete().uri("/auth").insert_header(("Token", "wrong")))).await;
    let not_out =
        json!({"action": "sign_out", "outcome": "token_invalid", "by": "user", "request_id": "the-one"});
    assert_eq!(trail(&lines), [not_out]);
}

#[actix_web::test]
async fn audits_ended_sessions_and_forgotten_users() {
    let service = Service::new().await;
    let (lines, _guard) = listening_to_json();
    let tokens =
        [service.signed_in(vec![]).await, service.signed_in(vec![]).await, service.signed_in(vec![]).await];
    let list = service.manage(TestRequest::get().uri("/sessions?user=1")).await.data();
    let ids: Vec<_> = (0..3).map(|place| list[place]["id"].as_str().unwrap().to_owned()).collect();
    trail(&lines);
    let revoke = || named(delete(&format!("/sessions/{}", ids[0])));
    service.manage(revoke()).await;
    service.manage(revoke()).await;
    let line = |action: &str, session: Option<&str>, user: Option<&str>, removed| {
        by_key(action, [0, 0, removed], &[("session", session), ("user", user)])
    };
    let ended = line("revoke_session", Some(&ids[0][..8]), Some("1"), 1);
    assert_eq!(trail(&lines), [ended, line("revoke_session", None, None, 0)]);
    service.manage(named(delete("/users/1/sessions"))).await;
    let both = format!("{},{}", &ids[1][..8], &ids[2][..8]);
    assert_eq!(trail(&lines), [line("revoke_user", Some(&both), Some("1"), 2)]);
    service.memory.scheduler.settled().await;
    service.manage(named(delete("/users/1"))).await;
    assert_eq!(trail(&lines), [line("forget_user", None, Some("1"), 0)]);
    let token = service.signed_in(vec![]).await;
    trail(&lines);
    let sign_out = TestRequest::post().uri("/sessions/sign-out").insert_header(("Token", token));
    service.manage(named(sign_out)).await;
    let trail = trail(&lines);
    assert_eq!((&trail[0]["action"], &trail[0]["user"]), (&json!("sign_out"), &json!("1")));
    assert!(tokens.iter().all(|token| !trail[0].to_string().contains(token.as_str())));
}

#[actix_web::test]
async fn audits_every_feed_change_with_its_counts() {
    let service = Service::new().await;
    let (lines, _guard) = listening_to_json();
    let block = || TestRequest::put().uri("/bot/blocked/5");
    let team = json!([]);
    let cases = [
        (put("/bot/guilds/7", &sample::guild()), "put_guild", Some("7"), None, [1, 0, 0]),
        (put("/bot/guilds/7", &sample::guild()), "put_guild", Some("7"), None, [0, 0, 0]),
        (
            put("/bot/guilds/7/members/5", &json!({"roles": []})),
            "put_member",
            Some("7"),
            Some("5"),
            [1, 0, 0],
        ),
        (delete("/bot/guilds/7/members/5"), "remove_member", Some("7"), Some("5"), [0, 0, 1]),
        (delete("/bot/guilds/7"), "remove_guild", Some("7"), None, [0, 0, 1]),
        (put("/bot/plus/5", &json!({"guilds": [], "slots": 1})), "put_plus", None, Some("5"), [1, 0, 0]),
        (delete("/bot/plus/5"), "remove_plus", None, Some("5"), [0, 0, 1]),
        (put("/bot/staff/5", &json!({"permissions": ["SUPPORT"]})), "put_staff", None, Some("5"), [1, 0, 0]),
        (delete("/bot/staff/5"), "remove_staff", None, Some("5"), [0, 0, 1]),
        (put("/bot/feedback/f", &sample::feedback()), "put_feedback", Some("f"), Some("5"), [1, 0, 0]),
        (delete("/bot/feedback/f"), "remove_feedback", Some("f"), None, [0, 0, 1]),
        (put("/bot/notices/n", &sample::notice()), "put_notice", Some("n"), None, [1, 0, 0]),
        (delete("/bot/notices/n"), "remove_notice", Some("n"), None, [0, 0, 1]),
        (delete("/bot/clusters/c"), "sign_off_cluster", Some("c"), None, [0, 0, 0]),
        (block(), "block", None, Some("5"), [1, 0, 0]),
        (delete("/bot/blocked/5"), "unblock", None, Some("5"), [0, 0, 1]),
        (put("/bot/team", &team), "put_team", None, None, [0, 0, 0]),
        (sync("", &sample::world()), "sync", None, None, [8, 0, 0]),
    ];
    for (request, action, subject, user, counts) in cases {
        service.manage(named(request)).await;
        let line = by_key(action, counts, &[("subject", subject), ("user", user)]);
        assert_eq!(trail(&lines), [line]);
    }
}

#[actix_web::test]
async fn audits_failures_and_omits_reads() {
    let service = Service::new().await;
    let (lines, _guard) = listening_to_json();
    let outcome = |lines: &Lines| trail(lines).iter().map(|line| line["outcome"].clone()).collect::<Vec<_>>();
    service.manage(put("/bot/guilds/7/members/5", &json!({"roles": []}))).await;
    assert_eq!(outcome(&lines), ["not_found"]);
    service.manage(sync("", &[json!({"kind": "nonsense"})])).await;
    assert_eq!(outcome(&lines), ["input_invalid"]);
    service.store.set(Some(Fault::Fails(StoreErrorKind::Unavailable)));
    service.manage(delete("/bot/blocked/5")).await;
    assert_eq!(outcome(&lines), ["storage_unavailable"]);
    service.store.set(None);
    let invalid = TestRequest::get().uri("/metrics").insert_header(("Authorization", "Bearer guess"));
    service.call_management(named(invalid)).await;
    let attempt = json!({
        "action": "use_management_key", "outcome": "key_invalid", "by": "stranger", "request_id": "the-one"
    });
    assert_eq!(trail(&lines), [attempt]);
    service.manage(put("/bot/clusters/c/heartbeat", &sample::heartbeat("0", 1.0, 1.0))).await;
    for path in ["/sessions?user=1", "/bot/guilds/7", "/bot/guilds/7/why/5", "/bot/plus/9"] {
        service.manage(TestRequest::get().uri(path)).await;
    }
    service.get("/team").await;
    assert_eq!(trail(&lines), [Value::Null; 0]);
}

#[actix_web::test]
async fn audits_a_session_that_the_service_ends_once() {
    for action in ["expire_session", "end_without_grant", "end_authorisation"] {
        let service = Service::new().await;
        let token = service.signed_in(vec![]).await;
        let sessions = async || service.manage(TestRequest::get().uri("/sessions?user=1")).await.data();
        let session = sessions().await[0]["id"].as_str().unwrap()[..8].to_owned();
        let (lines, _guard) = listening_to_json();
        match action {
            "expire_session" => service.memory.clock.advance(Duration::from_secs(31 * 24 * 60 * 60)),
            "end_without_grant" => remove_grants(&service.memory.ports.stores).await,
            _ => {
                service.memory.identity.end_authorisation(user_id(1));
                service.memory.clock.advance(Duration::from_secs(61));
            }
        }
        let ask = || named(TestRequest::get().uri("/guilds").insert_header(("Token", &*token)));
        let answer = service.call(ask()).await;
        assert!(answer.json()["message"].to_string().contains("Sign in again"));
        for again in [answer, service.call(ask()).await, service.call(ask()).await] {
            again.assert_error(401, "token_invalid");
        }
        let ended = json!({
            "action": action, "outcome": "success", "by": "service", "user": "1", "session": session, "added": 0, "changed": 0,
            "removed": 1, "request_id": "the-one",
        });
        assert_eq!(trail(&lines), [ended]);
        assert_eq!(sessions().await, json!([]));
    }
}

/// Returns the lines of the trail as written, with time and session ids replaced by placeholders.
fn lines_of(log: &Lines) -> Vec<String> {
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

fn placed(request: TestRequest) -> TestRequest {
    request.insert_header(("X-Request-Id", "the-one")).peer_addr(([192, 0, 2, 17], 5000).into())
}

const HEAD: &str = r#"{"timestamp":"TIME","level":"INFO","message":"audit","#;
const TAIL: &str = r#","client":"192.0.2.17","request_id":"the-one","target":"companion::audit"}"#;

#[track_caller]
fn assert_written(log: &Lines, expected: &[&str]) {
    let expected: Vec<_> = expected.iter().map(|line| format!("{HEAD}{line}{TAIL}")).collect();
    assert_eq!(lines_of(log), expected);
}

#[actix_web::test]
async fn audit_events_of_sessions_have_this_format() {
    let service = Service::with(|plan| plan.rules.limits.per_user = NonZeroU32::MIN).await;
    let (log, _guard) = listening_to_json();
    let sign_in = || placed(post_code(&service.code_of(a_user(1), vec![])));

    service.call(sign_in()).await;
    assert_written(
        &log,
        &[r#""action":"sign_in","outcome":"success","by":"user","user":"1","session":"SESSION""#],
    );

    service.call(sign_in()).await;
    assert_written(
        &log,
        &[
            r#""action":"end_over_cap","outcome":"success","by":"service","user":"1","session":"SESSION","added":0,"changed":0,"removed":1"#,
            r#""action":"sign_in","outcome":"success","by":"user","user":"1","session":"SESSION""#,
        ],
    );

    service.manage(placed(delete("/users/1"))).await;
    assert_written(
        &log,
        &[
            r#""action":"forget_user","outcome":"success","by":"key","key":"management.key","user":"1","session":"SESSION","added":0,"changed":0,"removed":2"#,
        ],
    );

    let with_key =
        |request: TestRequest| placed(request).insert_header(("Authorization", format!("Bearer {FEED_KEY}")));
    service.call_management(with_key(put("/bot/staff/5", &json!({"permissions": ["SUPPORT"]})))).await;
    service.call_management(with_key(delete("/users/1"))).await;
    assert_written(
        &log,
        &[
            r#""action":"put_staff","outcome":"success","by":"key","key":"bot","user":"5","added":1,"changed":0,"removed":0"#,
            r#""action":"use_management_key","outcome":"key_scope_missing","by":"key","key":"bot""#,
        ],
    );
}

#[actix_web::test]
async fn audit_events_of_the_service_have_no_request() {
    let service = Service::new().await;
    service.signed_in(vec![]).await;
    let sessions = service.use_cases.sessions.of_user(user_id(1)).await.unwrap();
    let (log, _guard) = listening_to_json();
    Audit::by_service(EXPIRE).ended(&sessions[0]);
    let line = r#""action":"expire_session","outcome":"success","by":"service","user":"1","session":"SESSION","added":0,"changed":0,"removed":1,"target":"companion::audit"}"#;
    assert_eq!(lines_of(&log), [format!("{HEAD}{line}")]);
}

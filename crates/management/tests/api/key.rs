//! Management keys: their scopes, and the rate limit of wrong ones.

use crate::{
    answers::OPEN,
    captured_log::listening_to_json,
    document::{operations, scope_of},
    put,
    service::{Answer, FEED_KEY, KEY, METRICS_KEY, PEOPLE_KEY, Service},
};
use actix_web::{http::Method, test::TestRequest};
use companion_domain::{model::Secret, port::BlockList as _};
use companion_http::TrustedProxies;
use companion_testkit::world::user_id;
use serde_json::{Value, json};
use std::time::Duration;

fn locked() -> Vec<TestRequest> {
    let get = |path: &str| TestRequest::get().uri(path);
    let method = |method: Method, path: &str| TestRequest::default().method(method).uri(path);
    vec![
        get("/metrics"),
        get("/"),
        get("/nothing"),
        get("/health"),
        get("/healthy/live"),
        get("/docs/"),
        get("/openapi.json/x"),
        put("/bot/blocked/1", &json!({})),
        TestRequest::post().uri("/bot/sync?replace=all"),
        method(Method::OPTIONS, "/bot/sync"),
        method(Method::TRACE, "/bot/sync"),
    ]
}

fn assert_locked(answer: &Answer, word: &str) {
    answer.assert_error(401, word);
    assert_eq!(answer.header("www-authenticate"), "Bearer");
}

#[actix_web::test]
async fn without_a_key_every_path_is_401() {
    let service = Service::new().await;
    for request in locked() {
        assert_locked(&service.call_management(request).await, "key_missing");
    }
    for request in locked() {
        let request = request.insert_header(("Authorization", "Bearer wrong"));
        assert_locked(&service.call_management(request).await, "key_invalid");
    }
    assert!(!service.memory.storage.is_blocked(user_id(1)).await.unwrap(), "and nothing is done");
}

async fn with(service: &Service, key: &str, request: TestRequest) -> Answer {
    service.call_management(request.insert_header(("Authorization", format!("Bearer {key}")))).await
}

/// Returns a path with invalid parameters: an accepted key gets an error response, and no stream begins.
fn harmless(path: &str) -> String {
    let path = path.replace(['{', '}'], "~");
    if path == "/bot/changes" { path + "?since=~" } else { path }
}

#[actix_web::test]
async fn a_key_opens_only_its_scopes() {
    let service = Service::new().await;
    let is_locked = |(method, path, operation): &(&'static str, &'static str, &Value)| {
        operation["tags"] == json!(["management"]) && !OPEN.contains(&(*method, *path))
    };
    for (method, path, operation) in operations().filter(is_locked) {
        let scope = scope_of(operation).unwrap();
        let needed = match path.split('/').nth(1).unwrap() {
            "bot" if path.contains("/why/") => "people",
            "bot" => "feed",
            "sessions" | "users" => "people",
            other => other,
        };
        assert_eq!(scope, needed, "{path}");
        let method: Method = method.to_uppercase().parse().unwrap();
        for (key, has) in [(FEED_KEY, "feed"), (PEOPLE_KEY, "people"), (METRICS_KEY, "metrics"), (KEY, scope)]
        {
            let request = TestRequest::default().method(method.clone()).uri(&harmless(path));
            let answer = with(&service, key, request).await;
            if has == scope {
                assert_ne!(answer.status, 403, "{method} {path} with {key}");
            } else {
                answer.assert_error(403, "key_scope_missing");
            }
        }
    }
}

#[actix_web::test]
async fn path_spellings_cannot_bypass_scopes() {
    let service = Service::new().await;
    for path in ["/%75sers/1", "/user%73/1", "/sessions?user=1", "/bot/guilds/7/%77hy/1"] {
        let answer = with(&service, FEED_KEY, TestRequest::get().uri(path)).await;
        assert!([403, 404].contains(&answer.status), "{path}: {}", answer.status);
    }
    with(&service, FEED_KEY, TestRequest::get().uri("/nothing")).await.assert_error(404, "not_found");
    for path in ["/health/../users/1", "/health/%2e%2e/users/1", "//users/1"] {
        let answer = service.call_management(TestRequest::get().uri(path)).await;
        assert!([401, 404].contains(&answer.status), "{path}: {}", answer.status);
    }
}

const ATTEMPTS: usize = 40;
const HOUR: Duration = Duration::from_secs(60 * 60);
const INSTANT: Duration = Duration::from_millis(1);

fn with_key(address: &str, key: &str) -> TestRequest {
    let request = TestRequest::get().uri("/metrics").peer_addr(format!("{address}:5000").parse().unwrap());
    request.insert_header(("Authorization", format!("Bearer {key}")))
}

fn assert_rate_limited(answer: &Answer) {
    answer.assert_error(429, "rate_limited");
    assert_eq!(answer.header("retry-after"), "1");
}

/// Tries many keys without a pause. Returns how many of them were compared.
async fn guess(service: &Service, address: &str) -> usize {
    let mut compared = 0;
    for attempt in 0..ATTEMPTS {
        let answer = service.call_management(with_key(address, &format!("guess-number-{attempt}"))).await;
        match answer.status {
            401 => compared += 1,
            _ => assert_rate_limited(&answer),
        }
    }
    compared
}

/// Returns a service that rate-limits this address.
pub(crate) async fn guessed_by(address: &str) -> Service {
    let service = Service::new().await;
    guess(&service, address).await;
    service
}

#[actix_web::test]
async fn a_client_with_wrong_keys_cannot_confirm_a_guess() {
    tokio::time::pause();
    let service = Service::new().await;
    for _ in 0..2 {
        assert_eq!(guess(&service, "203.0.113.9").await, 5);
        assert_rate_limited(&service.call_management(with_key("203.0.113.9", KEY)).await);
        let other = service.call_management(with_key("203.0.113.10", KEY)).await;
        assert_eq!(other.status, 200, "other clients are not limited");
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    assert_eq!(service.call_management(with_key("203.0.113.9", KEY)).await.status, 200);
}

#[actix_web::test]
async fn recent_keys_work_from_a_limited_address() {
    tokio::time::pause();
    let service = Service::new().await;
    let call = async |key: &str| service.call_management(with_key("203.0.113.9", key)).await;
    assert_eq!(call(METRICS_KEY).await.status, 200);
    for passed in [Duration::ZERO, HOUR - INSTANT] {
        tokio::time::advance(passed).await;
        assert_eq!(guess(&service, "203.0.113.9").await, 5, "a valid key does not lift the limit");
        assert_eq!(call(METRICS_KEY).await.status, 200);
        assert_rate_limited(&call(KEY).await);
    }
    tokio::time::advance(HOUR).await;
    assert_eq!(guess(&service, "203.0.113.9").await, 5);
    assert_rate_limited(&call(METRICS_KEY).await);
}

#[actix_web::test]
async fn an_exchanged_key_keeps_its_recent_use() {
    tokio::time::pause();
    let mut keys = None;
    let service = Service::with(|plan| keys = Some(plan.management.keys.clone())).await;
    assert_eq!(service.call_management(with_key("203.0.113.9", METRICS_KEY)).await.status, 200);
    let next = "the next key of the monitoring";
    assert_eq!(keys.unwrap().exchange(&"monitoring".parse().unwrap(), &Secret::new(next.into())), Ok(true));
    guess(&service, "203.0.113.9").await;
    assert_eq!(service.call_management(with_key("203.0.113.9", next)).await.status, 200);
    assert_rate_limited(&service.call_management(with_key("203.0.113.9", METRICS_KEY)).await);
}

#[actix_web::test]
async fn counts_wrong_keys_per_client_behind_a_proxy() {
    tokio::time::pause();
    let service = Service::with(|plan| {
        plan.management.trusted_proxies = TrustedProxies::new(|address| address.is_loopback());
    })
    .await;
    let through =
        |client: &str, key: &str| with_key("127.0.0.1", key).insert_header(("X-Forwarded-For", client));
    for _ in 0..5 {
        service.call_management(through("203.0.113.9", "guess")).await.assert_error(401, "key_invalid");
    }
    assert_rate_limited(&service.call_management(through("203.0.113.9", KEY)).await);
    assert_eq!(service.call_management(through("203.0.113.10", KEY)).await.status, 200);
}

#[actix_web::test]
async fn audits_and_counts_wrong_keys() {
    tokio::time::pause();
    let service = Service::new().await;
    let (lines, _guard) = listening_to_json();
    guess(&service, "203.0.113.9").await;
    tokio::time::sleep(Duration::from_secs(61)).await;
    let log = lines.take();
    assert_eq!(log.lines().count(), 4, "{log}");
    for (outcome, repeated) in [("key_invalid", 4), ("rate_limited", ATTEMPTS - 6)] {
        let is_event = |line: &&str| line.contains(outcome) && line.contains("use_management_key");
        assert_eq!(log.lines().filter(is_event).count(), 2, "{log}");
        assert!(
            log.contains(&format!(
                r#""outcome":"{outcome}","by":"stranger","client":"203.0.113.9","repeated":{repeated}"#
            )),
            "{log}"
        );
    }
}

//! What is logged, what never is, and how much clients and outages can add to the log.

use crate::{
    captured_log::{Lines, listening, listening_to_json},
    client::listen,
    service::{Fault, Service, answer, post_code},
};
use actix_web::test::{TestRequest, init_service};
use companion_domain::port::StoreErrorKind;
use companion_http::TrustedProxies;
use serde_json::{Value, json};
use std::time::Duration;

#[actix_web::test]
async fn logs_a_bug_as_one_error_with_its_cause() {
    let service = Service::unloaded().await;
    let (lines, _guard) = listening();
    for fault in [Fault::Fails(StoreErrorKind::Corrupt), Fault::Panics] {
        service.store.set(Some(fault));
        service.get("/feedback").await;
        let line = lines.take();
        assert!(line.contains("ERROR ") && line.contains("told to"), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
    }
}

#[actix_web::test]
async fn logs_neither_success_nor_client_errors() {
    let service = Service::new().await;
    let (lines, _guard) = listening();
    for path in ["/", "/team", "/guilds", "/nothing"] {
        service.get(path).await;
    }
    assert_eq!(lines.take(), "");
}

#[actix_web::test]
async fn warns_once_about_an_untrusted_proxy() {
    let trusted = TrustedProxies::new(|address| address.to_string() == "10.0.0.1");
    let service = Service::with(|plan| plan.public.trusted_proxies = trusted).await;
    let (lines, _guard) = listening();
    let post = |peer: &str, client: &'static str| {
        let request = post_code("made-up").peer_addr(format!("{peer}:5000").parse().unwrap());
        request.insert_header(("X-Forwarded-For", client))
    };
    let warnings = |log: String| log.lines().filter(|line| line.contains(" WARN ")).count();
    service.call(post("10.0.0.1", "198.51.100.1")).await;
    service.call(post_code("made-up").peer_addr("203.0.113.8:5000".parse().unwrap())).await;
    assert_eq!(warnings(lines.take()), 0, "one is trusted, the other sends no header");

    service.call(post("203.0.113.9", "198.51.100.2, canary")).await;
    let log = lines.take();
    assert!(log.contains("peer=203.0.113.9") && log.contains("http.trusted_proxies"), "{log}");
    assert!(!log.contains("198.51.100.2") && !log.contains("canary"), "{log}");
    assert_eq!(warnings(log), 1);
    for peer in ["203.0.113.9", "203.0.113.10"] {
        service.call(post(peer, "198.51.100.3")).await;
    }
    assert_eq!(warnings(lines.take()), 0, "warned only once");
}

#[actix_web::test]
async fn access_log_contains_every_request() {
    let service = Service::with(|plan| plan.public.access_log = true).await;
    let (lines, _guard) = listening_to_json();
    let peer = "203.0.113.9:5000".parse().unwrap();
    service.call(TestRequest::get().uri("/guilds?secret=1").peer_addr(peer)).await;
    let [line] = events(&lines).try_into().unwrap();
    let names = ["target", "message", "listener", "client", "method", "path", "code"];
    assert_eq!(
        fields(&line, &names),
        json!({
            "target": "companion::access", "message": "answered", "listener": "public", "client": "203.0.113.9",
            "method": "GET", "path": "/guilds", "code": 401,
        })
    );
    assert!(line["request_id"].is_string() && line["microseconds"].is_u64(), "{line}");
    assert!(!line.to_string().contains("secret"), "{line}");
}

const POSTS: usize = 2_000;
const WINDOW: Duration = Duration::from_secs(60);

fn without_code(address: &str) -> TestRequest {
    TestRequest::post().uri("/auth").peer_addr(format!("{address}:5000").parse().unwrap())
}

fn events(lines: &Lines) -> Vec<Value> {
    lines.take().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the named fields of an event.
fn fields(event: &Value, names: &[&str]) -> Value {
    names
        .iter()
        .map(|name| ((*name).to_owned(), event[*name].clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Advances the time until summaries are written.
async fn a_window_later() {
    tokio::time::sleep(WINDOW + Duration::from_millis(1)).await;
}

#[actix_web::test]
async fn counts_refusals_by_address_and_reason() {
    tokio::time::pause();
    let service = Service::new().await;
    let (lines, _guard) = listening_to_json();
    let repeated = |address: &str| {
        let twice = without_code(address).append_header(("Idp-Code", "a")).append_header(("Idp-Code", "b"));
        [without_code(address), without_code(address), without_code(address), twice]
    };
    for request in repeated("203.0.113.9").into_iter().chain(repeated("[2001:db8:1:2:3::4]")) {
        service.call(request).await;
    }
    let names = ["outcome", "client"];
    let logged = events(&lines);
    assert!(logged.iter().all(|event| event["request_id"].is_string() && event["repeated"].is_null()));
    let first: Vec<_> = logged.iter().map(|event| fields(event, &names)).collect();
    let kind = |outcome: &str, client: &str| json!({"outcome": outcome, "client": client});
    let kinds = [
        kind("idp_code_missing", "203.0.113.9"),
        kind("header_invalid", "203.0.113.9"),
        kind("idp_code_missing", "2001:db8:1:2::"),
        kind("header_invalid", "2001:db8:1:2::"),
    ];
    assert_eq!(first, kinds, "the first of each kind is logged at once");
    a_window_later().await;
    let summaries = events(&lines);
    assert_eq!(summaries.len(), 2, "single events are not summarised: {summaries:?}");
    for event in &summaries {
        let names = ["target", "action", "repeated", "request_id"];
        let expected =
            json!({"target": "companion::audit", "action": "sign_in", "repeated": 2, "request_id": null});
        assert_eq!(fields(event, &names), expected);
    }
    service.call(without_code("203.0.113.9")).await;
    assert_eq!(events(&lines).len(), 1, "a new window logs its first event");
}

#[actix_web::test]
async fn writes_pending_summaries_on_stop() {
    let service = Service::unloaded().await;
    let listening = listen(&service);
    for _ in 0..3 {
        service.call(without_code("203.0.113.9")).await;
    }
    service.store.set(Some(Fault::Fails(StoreErrorKind::Unavailable)));
    for _ in 0..3 {
        service.get("/feedback").await;
    }
    let (lines, _guard) = listening_to_json();
    listening.stop().await.unwrap();
    let logged = events(&lines);
    let logged = logged.iter().filter(|event| event["repeated"].is_u64());
    let mut logged: Vec<_> = logged.map(|event| fields(event, &["outcome", "error", "repeated"])).collect();
    logged.sort_by_key(Value::to_string);
    assert_eq!(
        logged,
        [
            json!({"outcome": null, "error": "storage_unavailable", "repeated": 2}),
            json!({"outcome": "idp_code_missing", "error": null, "repeated": 2}),
        ]
    );
}

#[actix_web::test]
async fn bounds_log_lines_by_number_of_addresses() {
    tokio::time::pause();
    let service = Service::new().await;
    let app = init_service(service.api.app()).await;
    let (lines, _guard) = listening_to_json();
    for address in 0..POSTS {
        let address = format!("203.0.{}.{}", address / 256, address % 256);
        answer(&app, without_code(&address).to_request()).await;
    }
    a_window_later().await;
    let logged = events(&lines);
    assert!(logged.len() <= 1002, "{} lines", logged.len());
    let last = logged.last().unwrap();
    assert_eq!(last["client"], Value::Null, "further addresses are summarised: {last}");
    let counted: u64 = logged.iter().map(|event| event["repeated"].as_u64().unwrap_or(1)).sum();
    assert_eq!(counted, POSTS as u64, "every refusal is counted");
}

#[actix_web::test]
async fn summarises_an_outage() {
    tokio::time::pause();
    let service = Service::unloaded().await;
    let app = init_service(service.api.app()).await;
    service.store.set(Some(Fault::Fails(StoreErrorKind::Unavailable)));
    let (lines, _guard) = listening_to_json();
    for request in 0..1000 {
        let id = format!("request-{request}");
        let request = TestRequest::get().uri("/feedback").insert_header(("X-Request-Id", id));
        answer(&app, request.to_request()).await;
    }
    service.store.set(Some(Fault::Fails(StoreErrorKind::Corrupt)));
    answer(&app, TestRequest::get().uri("/feedback").to_request()).await;
    a_window_later().await;
    let logged = events(&lines);
    let names = ["level", "code", "error", "request_id", "repeated"];
    assert_eq!(
        fields(&logged[0], &names),
        json!({
            "level": "WARN", "code": 503, "error": "storage_unavailable", "request_id": "request-0", "repeated": null
        })
    );
    assert!(logged[0]["cause"].as_str().unwrap().contains("told to fail"), "{}", logged[0]);
    assert_eq!(
        (&logged[1]["level"], &logged[1]["error"]),
        (&json!("ERROR"), &json!("internal")),
        "a different kind"
    );
    assert_eq!(
        fields(&logged[2], &names),
        json!({
            "level": "WARN", "code": 503, "error": "storage_unavailable", "request_id": null, "repeated": 999
        })
    );
    assert_eq!(logged.len(), 3, "{logged:?}");
}

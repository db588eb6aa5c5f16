//! What all requests share: path, method, request id, origin and body.

use crate::service::{Answer, BODY_LIMIT, DASHBOARD, Fault, Service, post_code};
use actix_web::{
    body::BodySize,
    http::{Method, header::HeaderValue},
    test::TestRequest,
};
use companion_storage_memory::IdentityCall;
use companion_testkit::world::a_user;
use std::collections::BTreeSet;

fn request(method: &str, path: &str) -> TestRequest {
    TestRequest::default().method(Method::from_bytes(method.as_bytes()).unwrap()).uri(path)
}

#[actix_web::test]
async fn unknown_paths_are_404_for_every_method() {
    let service = Service::new().await;
    for path in
        ["/nothing", "/team/", "/auth/", "//", "/TEAM", "/guilds/1", "/team;x", "/index.html", "/health/live"]
    {
        for method in ["GET", "POST", "OPTIONS", "DELETE", "BREW"] {
            service.call(request(method, path)).await.assert_error(404, "not_found");
        }
    }
}

#[actix_web::test]
async fn head_matches_get_without_a_body() {
    let service = Service::new().await;
    for path in ["/guilds", "/feedback", "/team", "/nothing"] {
        // A valid id is kept; otherwise the answers would differ by their ids.
        let id = ("X-Request-Id", "a-Z_0.9");
        let get = service.call(request("GET", path).insert_header(id)).await;
        let head = service.call(request("HEAD", path).insert_header(id)).await;
        assert_eq!(head.status, get.status, "{path}");
        assert_eq!(head.body, b"");
        assert_eq!(head.length, BodySize::Sized(get.body.len() as u64));
        assert_eq!(sorted(&head), sorted(&get));
    }
    let status = service.call(request("HEAD", "/")).await;
    assert_eq!((status.status, status.body.len(), status.header("cache-control")), (200, 0, "no-cache"));
}

#[actix_web::test]
async fn ready_responses_match_their_handlers() {
    let service = Service::new().await;
    for path in ["/", "/feedback", "/team"] {
        for method in ["GET", "HEAD"] {
            let asked = || request(method, path).insert_header(("X-Request-Id", "same"));
            let ready = service.call(asked()).await;
            // A request with a body is always routed.
            let routed = service.call(asked().set_payload("ignored")).await;
            assert_eq!((ready.status, ready.length), (routed.status, routed.length), "{method} {path}");
            assert_eq!(ready.body, routed.body, "{method} {path}");
            assert_eq!(sorted(&ready), sorted(&routed), "{method} {path}");
        }
    }
}

/// Returns whether every kind of response has the header with this value: ready, routed, without a body, refused, and
/// after a panic. Asserts that all agree.
async fn is_everywhere(service: &Service, header: &str, value: &str) -> bool {
    let mut answers = Vec::new();
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/feedback"),
        ("GET", "/team"),
        ("HEAD", "/team"),
        ("OPTIONS", "/team"),
        ("POST", "/team"),
        ("GET", "/guilds"),
        ("POST", "/auth"),
        ("GET", "/nothing"),
    ] {
        answers.push(service.call(request(method, path)).await);
    }
    answers.push(service.call(request("GET", "/team").set_payload("ignored")).await);
    let token = service.signed_in(vec![]).await;
    service.store.set(Some(Fault::Panics));
    let lost = service.guilds(&token).await;
    assert_eq!(lost.status, 500);
    answers.push(lost);
    service.store.set(None);
    let has = answers.iter().map(|answer| answer.header(header) == value).collect::<BTreeSet<_>>();
    assert_eq!(has.len(), 1, "{header} is in some responses only");
    has.contains(&true)
}

#[actix_web::test]
async fn every_response_forbids_content_sniffing_and_has_hsts_only_with_tls() {
    let strict = "max-age=31536000";
    let plain = Service::new().await;
    assert!(is_everywhere(&plain, "x-content-type-options", "nosniff").await);
    assert!(!is_everywhere(&plain, "strict-transport-security", strict).await);
    let encrypted = Service::with(|plan| plan.public.tls = true).await;
    assert!(is_everywhere(&encrypted, "strict-transport-security", strict).await);
    for path in ["/health/live", "/docs", "/openapi.json", "/metrics", "/nothing"] {
        let answer = plain.call_management(request("GET", path)).await;
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
    }
}

fn sorted(answer: &Answer) -> Vec<(String, HeaderValue)> {
    let mut headers: Vec<_> =
        answer.headers.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    headers.sort();
    headers
}

const EXPOSED: &str = "X-Request-Id, Retry-After, Age, ETag";

fn from(origin: &str, method: Method, path: &str) -> TestRequest {
    TestRequest::default().method(method).uri(path).insert_header(("Origin", origin))
}

fn preflight(origin: &str, path: &str, method: &str) -> TestRequest {
    from(origin, Method::OPTIONS, path).insert_header(("Access-Control-Request-Method", method))
}

fn assert_closed(answer: &Answer) {
    let told = answer.headers.keys().filter(|name| name.as_str().starts_with("access-control-"));
    assert_eq!(told.count(), 0, "{answer:?}");
    assert_eq!(answer.header("vary"), "Origin");
}

fn assert_open(answer: &Answer) {
    assert_eq!(answer.header("access-control-allow-origin"), DASHBOARD, "{answer:?}");
    assert_eq!(answer.header("access-control-expose-headers"), EXPOSED);
    assert_eq!(answer.header("access-control-allow-credentials"), "");
    assert_eq!(answer.header("vary"), "Origin");
}

#[actix_web::test]
async fn grants_preflights_of_configured_origins() {
    let service = Service::new().await;
    let reading = "GET, HEAD, OPTIONS";
    for (path, methods) in [("/auth", "POST, OPTIONS"), ("/guilds", reading), ("/", reading)] {
        let answer = service.call(preflight(DASHBOARD, path, "GET")).await;
        assert_eq!((answer.status, answer.body.len()), (204, 0));
        assert_open(&answer);
        let headers = "Token, Idp-Code, Idp-Code-Verifier, Sent-Epoch";
        assert_eq!(answer.header("access-control-allow-methods"), methods);
        assert_eq!(answer.header("access-control-allow-headers"), headers);
        assert_eq!(answer.header("access-control-max-age"), "7200");
    }
}

#[actix_web::test]
async fn configured_origins_can_read_every_response() {
    let service = Service::new().await;
    for (method, path, status) in [
        (Method::GET, "/team", 200),
        (Method::HEAD, "/team", 200),
        (Method::GET, "/guilds", 401),
        (Method::GET, "/nothing", 404),
        // Only preflights name methods.
        (Method::OPTIONS, "/team", 204),
        (Method::PUT, "/team", 405),
    ] {
        let asked = from(DASHBOARD, method.clone(), path);
        let asked =
            if status == 405 { asked.insert_header(("Access-Control-Request-Method", "PUT")) } else { asked };
        let answer = service.call(asked).await;
        assert_eq!(answer.status, status, "{path}");
        assert_open(&answer);
        assert_eq!(answer.header("access-control-allow-methods"), "", "{method} {path}");
        assert_eq!(answer.header("access-control-max-age"), "", "{method} {path}");
    }
}

#[actix_web::test]
async fn other_origins_can_read_nothing() {
    let service = Service::new().await;
    for origin in [
        "https://other.example",
        "null",
        "https://dashboard.example.evil.example",
        "https://DASHBOARD.example",
    ] {
        assert_closed(&service.call(preflight(origin, "/auth", "POST")).await);
        for path in ["/", "/team", "/feedback"] {
            let answer = service.call(from(origin, Method::GET, path)).await;
            assert_eq!(answer.status, 200);
            assert_closed(&answer);
        }
    }
    assert_closed(&service.get("/team").await);
}

#[actix_web::test]
async fn rejects_a_large_body_before_any_work() {
    let service = Service::new().await;
    let code = service.code_of(a_user(1), vec![]);
    let token = service.signed_in(vec![]).await;
    let asked = service.memory.identity.calls(IdentityCall::Exchange);
    let body = vec![b'x'; BODY_LIMIT + 1];
    for request in [
        post_code(&code),
        TestRequest::get().uri("/guilds").insert_header(("Token", token)),
        TestRequest::get().uri("/team"),
        TestRequest::get().uri("/feedback"),
        TestRequest::get().uri("/"),
    ] {
        service.call(request.set_payload(body.clone())).await.assert_error(413, "body_too_large");
    }
    assert_eq!(service.memory.identity.calls(IdentityCall::Exchange), asked);
    let fits = post_code(&code).set_payload(vec![b'x'; BODY_LIMIT]);
    assert_eq!(service.call(fits).await.status, 200, "and is ignored");
}

//! What browsers are told.

use crate::{
    answer::Answer,
    faulty::Fault,
    service::{DASHBOARD, Service},
};
use actix_web::{http::Method, test::TestRequest};

const STRANGER: &str = "https://stranger.example";
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
async fn a_preflight_of_a_configured_origin_is_granted() {
    let service = Service::new().await;
    for (path, methods) in
        [("/auth", "POST, OPTIONS"), ("/guilds", "GET, HEAD, OPTIONS"), ("/", "GET, HEAD, OPTIONS")]
    {
        let answer = service.call(preflight(DASHBOARD, path, "GET")).await;
        assert_eq!((answer.status, answer.body.len()), (204, 0));
        assert_open(&answer);
        assert_eq!(answer.header("access-control-allow-methods"), methods);
        assert_eq!(
            answer.header("access-control-allow-headers"),
            "Token, Idp-Code, Idp-Code-Verifier, Sent-Epoch"
        );
        assert_eq!(answer.header("access-control-max-age"), "7200");
    }
}

#[actix_web::test]
async fn a_preflight_of_any_other_origin_is_told_nothing() {
    let service = Service::new().await;
    for origin in [STRANGER, "null", "https://dashboard.example.evil.example", "https://DASHBOARD.example"] {
        let answer = service.call(preflight(origin, "/auth", "POST")).await;
        assert_eq!(answer.status, 204);
        assert_closed(&answer);
    }
}

#[actix_web::test]
async fn pages_of_configured_origins_can_read_every_kind_of_answer() {
    let service = Service::new().await;
    for (method, path, status) in [
        (Method::GET, "/", 200),
        (Method::GET, "/team", 200),
        (Method::GET, "/feedback", 200),
        (Method::HEAD, "/team", 200),
        (Method::GET, "/guilds", 401),
        (Method::POST, "/auth", 401),
        (Method::GET, "/nothing", 404),
        (Method::DELETE, "/team", 405),
    ] {
        let answer = service.call(from(DASHBOARD, method, path)).await;
        assert_eq!(answer.status, status, "{path}");
        assert_open(&answer);
    }
    let unloaded = Service::unloaded().await;
    unloaded.store.set(Some(Fault::Panics));
    let answer = unloaded.call(from(DASHBOARD, Method::GET, "/feedback")).await;
    answer.assert_error(500, "internal");
    assert_open(&answer);
}

#[actix_web::test]
async fn public_data_is_given_to_anyone_but_readable_to_configured_pages_only() {
    let service = Service::new().await;
    for path in ["/", "/team", "/feedback"] {
        let answer = service.call(from(STRANGER, Method::GET, path)).await;
        assert_eq!(answer.status, 200);
        assert_closed(&answer);
        assert_closed(&service.get(path).await);
    }
}

#[actix_web::test]
async fn methods_are_told_only_to_browsers_that_ask_beforehand() {
    let service = Service::new().await;
    let plain = service.call(from(DASHBOARD, Method::OPTIONS, "/team")).await;
    let refused =
        from(DASHBOARD, Method::PUT, "/team").insert_header(("Access-Control-Request-Method", "PUT"));
    for answer in [plain, service.call(refused).await] {
        assert_open(&answer);
        assert_eq!(answer.header("allow"), "GET, HEAD, OPTIONS");
        assert_eq!(answer.header("access-control-allow-methods"), "");
        assert_eq!(answer.header("access-control-max-age"), "");
    }
}

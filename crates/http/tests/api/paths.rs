//! Paths and methods.

use crate::{answer::Answer, faulty::Fault, service::Service};
use actix_web::{
    body::BodySize,
    http::{Method, header::HeaderValue},
    test::TestRequest,
};
use std::collections::BTreeSet;

const READING: &str = "GET, HEAD, OPTIONS";
const PATHS: [(&str, &str); 5] = [
    ("/", READING),
    ("/auth", "POST, OPTIONS"),
    ("/guilds", READING),
    ("/feedback", READING),
    ("/team", READING),
];

fn request(method: &str, path: &str) -> TestRequest {
    TestRequest::default().method(Method::from_bytes(method.as_bytes()).unwrap()).uri(path)
}

#[actix_web::test]
async fn other_paths_do_not_exist_whatever_the_method() {
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
async fn a_query_changes_nothing() {
    let service = Service::new().await;
    assert_eq!(service.get("/team?page=2&x").await.status, 200);
    assert_eq!(service.get("/?").await.status, 200);
}

#[actix_web::test]
async fn a_wrong_method_is_told_which_ones_are_right() {
    let service = Service::new().await;
    for (path, allow) in PATHS {
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "BREW"] {
            if allow.contains(method) {
                continue;
            }
            let answer = service.call(request(method, path)).await;
            assert_eq!((answer.status, answer.header("allow")), (405, allow), "{method} {path}");
            if method != "HEAD" {
                answer.assert_error(405, "method_not_allowed");
            }
        }
    }
}

#[actix_web::test]
async fn options_tells_the_methods_without_a_body() {
    let service = Service::new().await;
    for (path, allow) in PATHS {
        let answer = service.call(request("OPTIONS", path)).await;
        assert_eq!((answer.status, answer.header("allow"), answer.body.len()), (204, allow, 0), "{path}");
        assert!(!answer.header("x-request-id").is_empty());
        assert_eq!(answer.header("access-control-allow-methods"), "", "nobody asked beforehand");
    }
}

#[actix_web::test]
async fn head_says_what_get_would_without_saying_it() {
    let service = Service::new().await;
    for path in ["/guilds", "/feedback", "/team", "/nothing"] {
        let id = ("X-Request-Id", "same");
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
async fn an_answer_that_was_ready_is_the_one_that_its_handler_gives() {
    let service = Service::new().await;
    for path in ["/", "/feedback", "/team"] {
        for method in ["GET", "HEAD"] {
            let asked = || request(method, path).insert_header(("X-Request-Id", "same"));
            let ready = service.call(asked()).await;
            // A body is for handlers, so this one is routed.
            let routed = service.call(asked().set_payload("ignored")).await;
            assert_eq!((ready.status, ready.length), (routed.status, routed.length), "{method} {path}");
            assert_eq!(ready.body, routed.body, "{method} {path}");
            assert_eq!(sorted(&ready), sorted(&routed), "{method} {path}");
        }
    }
}

#[actix_web::test]
async fn answers_are_counted_under_their_path_whether_they_were_ready_or_routed() {
    let service = Service::new().await;
    service.get("/team").await;
    service.call(request("GET", "/team").set_payload("ignored")).await;
    service.call(request("POST", "/team")).await;
    let page = service.manage(TestRequest::get().uri("/metrics")).await;
    let page = String::from_utf8(page.body).unwrap();
    for (code, count) in [("200", 2), ("405", 1)] {
        let line = format!(
            "companion_http_requests_total{{listener=\"public\",endpoint=\"/team\",code=\"{code}\"}} {count}"
        );
        assert!(page.lines().any(|found| found == line), "{line} in\n{page}");
    }
}

/// Returns whether every kind of answer has the header with this value: ready, routed, without a body, refused and lost.
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
    assert_eq!(has.len(), 1, "{header} is in some answers only");
    has.contains(&true)
}

#[actix_web::test]
async fn every_answer_is_what_its_content_type_says() {
    let service = Service::new().await;
    assert!(is_everywhere(&service, "x-content-type-options", "nosniff").await);
    for path in ["/health/live", "/docs", "/openapi.json", "/metrics", "/nothing"] {
        let answer = service.call_management(request("GET", path)).await;
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
    }
}

#[actix_web::test]
async fn browsers_are_told_to_keep_to_tls_where_the_listener_speaks_it() {
    let strict = "max-age=31536000";
    let plain = Service::new().await;
    assert!(!is_everywhere(&plain, "strict-transport-security", strict).await);
    let encrypted = Service::with(|plan| plan.public.tls = true).await;
    assert!(is_everywhere(&encrypted, "strict-transport-security", strict).await);
}

fn sorted(answer: &Answer) -> Vec<(String, HeaderValue)> {
    let mut headers: Vec<_> =
        answer.headers.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    headers.sort();
    headers
}

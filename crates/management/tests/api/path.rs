//! Paths, methods and bodies.

use super::{put, sample};
use crate::service::{BODY_LIMIT, Service};
use actix_web::{body::BodySize, http::Method, test::TestRequest};

const READING: &str = "GET, HEAD, OPTIONS";
const KEPT: &str = "GET, HEAD, PUT, DELETE, OPTIONS";
const PATHS: [(&str, &str); 20] = [
    ("/health/live", READING),
    ("/health/ready", READING),
    ("/metrics", READING),
    ("/openapi.json", READING),
    ("/docs", READING),
    ("/bot/guilds/7", KEPT),
    ("/bot/guilds/7/members/5", KEPT),
    ("/bot/guilds/7/why/5", READING),
    ("/bot/plus/5", KEPT),
    ("/bot/staff/5", KEPT),
    ("/bot/team", "PUT, OPTIONS"),
    ("/bot/feedback/f", KEPT),
    ("/bot/blocked/5", KEPT),
    ("/bot/clusters/c/heartbeat", "PUT, OPTIONS"),
    ("/bot/sync", "POST, OPTIONS"),
    ("/sessions", READING),
    ("/sessions/sign-out", "POST, OPTIONS"),
    ("/sessions/0", "DELETE, OPTIONS"),
    ("/users/5/sessions", "DELETE, OPTIONS"),
    ("/users/5", "GET, HEAD, DELETE, OPTIONS"),
];

fn request(method: &str, path: &str) -> TestRequest {
    TestRequest::default().method(Method::from_bytes(method.as_bytes()).unwrap()).uri(path)
}

#[actix_web::test]
async fn a_wrong_method_is_told_which_ones_are_right() {
    let service = Service::new().await;
    for (path, allow) in PATHS {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "BREW"] {
            if allow.split(", ").any(|allowed| allowed == method) {
                continue;
            }
            let answer = service.manage(request(method, path)).await;
            answer.assert_error(405, "method_not_allowed");
            assert_eq!(answer.header("allow"), allow, "{method} {path}");
        }
        let options = service.manage(request("OPTIONS", path)).await;
        assert_eq!((options.status, options.header("allow"), options.body.len()), (204, allow, 0), "{path}");
    }
}

#[actix_web::test]
async fn head_says_what_get_would_without_saying_it() {
    let service = Service::new().await;
    service.manage(put("/bot/guilds/7", &sample::guild())).await;
    for path in [
        "/health/live",
        "/openapi.json",
        "/docs",
        "/sessions?user=1",
        "/sessions",
        "/nothing",
        "/bot/guilds/7",
        "/bot/guilds/8",
        "/bot/guilds/7/members/5",
        "/bot/guilds/7/why/5",
        "/bot/blocked/5",
    ] {
        let get = service.manage(request("GET", path)).await;
        let head = service.manage(request("HEAD", path)).await;
        assert_eq!((head.status, head.body.len()), (get.status, 0), "{path}");
        assert_eq!(head.length, BodySize::Sized(get.body.len() as u64), "{path}");
    }
}

#[actix_web::test]
async fn no_path_of_one_listener_is_on_the_other() {
    let service = Service::new().await;
    for (path, _) in PATHS {
        for method in ["GET", "PUT", "POST", "DELETE", "OPTIONS"] {
            service.call(request(method, path)).await.assert_error(404, "not_found");
        }
    }
    for path in ["/", "/auth", "/guilds", "/feedback", "/team"] {
        for method in ["GET", "POST", "OPTIONS"] {
            service.manage(request(method, path)).await.assert_error(404, "not_found");
        }
    }
}

#[actix_web::test]
async fn other_paths_do_not_exist() {
    let service = Service::new().await;
    for path in [
        "/bot",
        "/bot/",
        "/bot/guilds",
        "/bot/guilds/",
        "/bot/guilds/7/",
        "/bot/guilds/7/members",
        "/bot/team/",
        "/bot/clusters/c",
        "/sessions/",
        "/sessions/1/2",
        "/users",
        "/users/1/",
        "/bot/guilds/7/members/5/roles",
        "/bot/guilds/7/why",
    ] {
        service.manage(request("PUT", path)).await.assert_error(404, "not_found");
    }
}

#[actix_web::test]
async fn an_id_in_the_path_that_is_none_is_named() {
    let service = Service::new().await;
    let sixty_five = format!("/bot/feedback/{}", "x".repeat(65));
    for (method, path, places) in [
        ("DELETE", "/bot/guilds/0", "guild"),
        ("DELETE", "/bot/guilds/07", "guild"),
        ("DELETE", "/bot/guilds/18446744073709551616", "guild"),
        ("DELETE", "/bot/guilds/7/members/x", "user"),
        ("DELETE", "/bot/guilds/x/members/7", "guild"),
        ("GET", "/bot/guilds/x", "guild"),
        ("GET", "/bot/guilds/7/members/x", "user"),
        ("GET", "/bot/guilds/7/why/0", "user"),
        ("GET", "/bot/guilds/0/why/7", "guild"),
        ("GET", "/bot/feedback/a.b", "id"),
        ("DELETE", "/bot/plus/-1", "user"),
        ("DELETE", "/bot/staff/1.0", "user"),
        ("PUT", "/bot/blocked/one", "user"),
        ("DELETE", "/bot/blocked/%20", "user"),
        ("DELETE", "/bot/feedback/a.b", "id"),
        ("DELETE", "/bot/feedback/%C3%A9", "id"),
        ("DELETE", sixty_five.as_str(), "id"),
        ("DELETE", "/sessions/abc", "id"),
        ("DELETE", "/users/x/sessions", "user"),
        ("DELETE", "/users/0", "user"),
    ] {
        let answer = service.manage(request(method, path).set_payload("{}")).await;
        answer.assert_invalid(&[places]);
    }
}

#[actix_web::test]
async fn mistakes_in_the_path_and_in_the_body_are_told_at_once() {
    let service = Service::new().await;
    for (path, segments, fields) in [
        (
            "/bot/guilds/abc",
            &["guild"][..],
            &["name", "icon", "members", "owner", "setup", "linked", "roles"][..],
        ),
        ("/bot/guilds/abc/members/0", &["guild", "user"], &["roles"]),
        ("/bot/plus/abc", &["user"], &["guilds", "slots"]),
        ("/bot/staff/abc", &["user"], &["permissions"]),
        ("/bot/feedback/a.b", &["id"], &["feedback", "rating", "timestamp", "submitter"]),
        ("/bot/clusters/a%2Fb/heartbeat", &["cluster"], &["memory", "started_at", "shards"]),
    ] {
        for nonsense in ["", "{", "[]"] {
            let answer = service.manage(request("PUT", path).set_payload(nonsense)).await;
            answer.assert_invalid(&[segments, &[""]].concat());
        }
        let answer = service.manage(request("PUT", path).set_payload("{}")).await;
        answer.assert_invalid(&[segments, fields].concat());
        // What repeats the path says nothing new.
        let repeated = r#"{"id": "x", "guild": "x", "user": "x", "cluster": "x"}"#;
        let answer = service.manage(request("PUT", path).set_payload(repeated)).await;
        let unknown: &[&str] = match path {
            "/bot/guilds/abc" | "/bot/feedback/a.b" => &["guild", "user", "cluster"],
            "/bot/guilds/abc/members/0" => &["id", "cluster"],
            "/bot/clusters/a%2Fb/heartbeat" => &["guild", "user"],
            _ => &["id", "guild", "cluster"],
        };
        answer.assert_invalid(&[segments, fields, unknown].concat());
    }
    for (method, path) in [
        ("GET", "/bot/guilds/x/members/y"),
        ("DELETE", "/bot/guilds/x/members/y"),
        ("GET", "/bot/guilds/x/why/y"),
    ] {
        service.manage(request(method, path)).await.assert_invalid(&["guild", "user"]);
    }
}

#[actix_web::test]
async fn a_body_over_the_limit_is_refused_and_nothing_is_done() {
    let service = Service::new().await;
    for (path, allow) in PATHS.into_iter().filter(|(path, _)| *path != "/bot/sync") {
        for method in allow.split(", ").filter(|method| !matches!(*method, "OPTIONS" | "HEAD")) {
            let large = "x".repeat(sample::larger_than_any(path));
            let answer = service.manage(request(method, path).set_payload(large)).await;
            answer.assert_error(413, "body_too_large");
        }
    }
    let announced = put("/bot/guilds/7", &sample::guild()).insert_header(("Content-Length", "10000000000"));
    service.manage(announced).await.assert_error(413, "body_too_large");
    let mut padded = sample::guild().to_string();
    padded.push_str(&" ".repeat(BODY_LIMIT - padded.len()));
    let fits = TestRequest::put().uri("/bot/guilds/7").set_payload(padded);
    assert_eq!(service.manage(fits).await.counts(), [1, 0, 0], "exactly the limit is within it");
}

#[actix_web::test]
async fn what_a_body_is_called_does_not_matter() {
    let service = Service::new().await;
    for kind in ["text/plain", "application/x-www-form-urlencoded", "nonsense"] {
        let request = put("/bot/guilds/7", &sample::guild()).insert_header(("Content-Type", kind));
        assert_eq!(service.manage(request).await.status, 200, "{kind}");
    }
    let ignored = TestRequest::put().uri("/bot/blocked/5").set_payload("{not json");
    assert_eq!(service.manage(ignored).await.counts(), [1, 0, 0], "no body is wanted here");
}

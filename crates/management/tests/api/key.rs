//! The key.

use super::{delete, put};
use crate::{
    answer::Answer,
    service::{KEY, Service},
};
use actix_web::{http::Method, test::TestRequest};
use companion_domain::{model::Secret, port::BlockList as _};
use companion_management::ManagementKeys;
use companion_testkit::world::user_id;
use serde_json::json;

fn locked() -> Vec<TestRequest> {
    let get = |path: &str| TestRequest::get().uri(path);
    let method = |method: Method, path: &str| TestRequest::default().method(method).uri(path);
    vec![
        get("/metrics"),
        get("/sessions?user=1"),
        get("/sessions"),
        get("/"),
        get("/nothing"),
        get("/health"),
        get("/healthy/live"),
        get("/docs/"),
        get("/openapi.json/x"),
        put("/bot/guilds/7", &json!({})),
        put("/bot/blocked/1", &json!({})),
        delete("/bot/guilds/7/members/5"),
        put("/bot/team", &json!([])),
        put("/bot/clusters/a/heartbeat", &json!({})),
        TestRequest::post().uri("/bot/sync?replace=all"),
        TestRequest::post().uri("/sessions/sign-out").insert_header(("Token", "x")),
        delete("/sessions/abc"),
        delete("/users/1/sessions"),
        delete("/users/1"),
        method(Method::OPTIONS, "/bot/sync"),
        method(Method::TRACE, "/bot/sync"),
    ]
}

fn assert_locked(answer: &Answer, word: &str) {
    answer.assert_error(401, word);
    assert_eq!(answer.header("www-authenticate"), "Bearer");
}

#[actix_web::test]
async fn without_a_key_nothing_is_told_not_even_what_exists() {
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

#[actix_web::test]
async fn every_configured_key_opens_and_no_other() {
    let service = Service::new().await;
    for (sent, status) in [
        (format!("Bearer {KEY}"), 200),
        ("bearer an-older-key".to_owned(), 200),
        (format!("Bearer {KEY}x"), 401),
        (format!("Basic {KEY}"), 401),
        (KEY.to_owned(), 401),
    ] {
        let request = TestRequest::get().uri("/metrics").insert_header(("Authorization", sent.clone()));
        assert_eq!(service.call_management(request).await.status, status, "{sent}");
    }
    let keyless = Service::with(|plan| {
        plan.management.keys = ManagementKeys::new(&[Secret::new(String::new())]);
    })
    .await;
    let empty = TestRequest::get().uri("/metrics").insert_header(("Authorization", "Bearer "));
    assert_locked(&keyless.call_management(empty).await, "key_invalid");
}

#[actix_web::test]
async fn health_and_the_reference_are_open() {
    let service = Service::new().await;
    for path in ["/health/live", "/health/ready", "/openapi.json", "/docs"] {
        assert_eq!(service.call_management(TestRequest::get().uri(path)).await.status, 200, "{path}");
    }
}

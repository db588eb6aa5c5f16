//! `GET /health/live` and `GET /health/ready`.

use crate::{
    answer::Answer,
    service::{Service, Unready},
};
use actix_web::{http::Method, test::TestRequest};
use serde_json::json;
use std::sync::Arc;

async fn get(why: Option<&'static str>, path: &str) -> Answer {
    let service = Service::with(|plan| {
        if let Some(why) = why {
            plan.readiness = Arc::new(Unready(why));
        }
    })
    .await;
    service.call_management(TestRequest::get().uri(path)).await
}

#[actix_web::test]
async fn a_process_that_answers_is_alive_ready_or_not() {
    assert_eq!(get(None, "/health/live").await.data(), json!({}));
    assert_eq!(get(Some("draining"), "/health/live").await.data(), json!({}));
}

#[actix_web::test]
async fn readiness_is_what_the_probe_says() {
    let ready = get(None, "/health/ready").await;
    assert_eq!(ready.data(), json!({}));
    assert_eq!(ready.header("cache-control"), "no-store");
    let not = get(Some("draining"), "/health/ready").await;
    not.assert_error(503, "not_ready");
    assert_eq!(not.json()["message"], "Not ready for traffic: draining.");
}

#[actix_web::test]
async fn probes_may_ask_without_wanting_a_body() {
    let service = Service::new().await;
    let head = TestRequest::default().method(Method::HEAD).uri("/health/ready");
    let head = service.call_management(head).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    service.call_management(TestRequest::get().uri("/health/else")).await.assert_error(404, "not_found");
}

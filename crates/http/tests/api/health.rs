//! The management API, as far as it goes: health.

use crate::answer::Answer;
use actix_web::test::{TestRequest, init_service, try_call_service};
use async_trait::async_trait;
use companion_http::{ManagementApi, Readiness};
use companion_testkit::use_cases::InMemory;
use serde_json::json;
use std::sync::Arc;

struct Probe(Result<(), &'static str>);

#[async_trait]
impl Readiness for Probe {
    async fn check(&self) -> Result<(), String> {
        self.0.map_err(str::to_owned)
    }
}

async fn get(probe: Result<(), &'static str>, path: &str) -> Answer {
    call(probe, TestRequest::get().uri(path)).await
}

async fn call(probe: Result<(), &'static str>, request: TestRequest) -> Answer {
    let ports = InMemory::new().ports;
    let api = ManagementApi::new(Arc::new(Probe(probe)), ports.clock, ports.entropy);
    let app = init_service(api.app()).await;
    let response = try_call_service(&app, request.to_request()).await.unwrap();
    Answer::of(response.into_parts().1).await
}

#[actix_web::test]
async fn a_process_that_answers_is_alive_ready_or_not() {
    assert_eq!(get(Ok(()), "/health/live").await.data(), json!({}));
    assert_eq!(get(Err("draining"), "/health/live").await.data(), json!({}));
}

#[actix_web::test]
async fn readiness_is_what_the_probe_says() {
    let ready = get(Ok(()), "/health/ready").await;
    assert_eq!(ready.data(), json!({}));
    assert_eq!(ready.header("cache-control"), "no-store");
    let not = get(Err("draining"), "/health/ready").await;
    not.assert_error(503, "not_ready");
    assert_eq!(not.json()["message"], "Not ready for traffic: draining.");
}

#[actix_web::test]
async fn everything_else_is_an_error_in_an_envelope() {
    get(Ok(()), "/").await.assert_error(404, "not_found");
    let posted = call(Ok(()), TestRequest::post().uri("/health/live")).await;
    posted.assert_error(405, "method_not_allowed");
    assert_eq!(posted.header("allow"), "GET, HEAD, OPTIONS");
    let head =
        call(Ok(()), TestRequest::default().method(actix_web::http::Method::HEAD).uri("/health/ready")).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
}

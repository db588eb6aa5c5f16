//! `GET /metrics`, `GET /health/live` and `GET /health/ready`.

use crate::{
    delete, put, sample,
    service::{Answer, Fault, KEY, Service, Unready, post_code},
};
use actix_web::test::TestRequest;
use companion_testkit::world::a_user;
use serde_json::json;
use std::{collections::BTreeSet, sync::Arc};

fn value(page: &str, sample: &str) -> Option<f64> {
    page.lines().find_map(|line| line.strip_prefix(sample)?.trim().parse().ok())
}

#[actix_web::test]
async fn counts_requests_by_listener_endpoint_and_code() {
    let service = Service::unloaded().await;
    service.store.set(Some(Fault::Panics));
    service.get("/feedback").await;
    service.store.set(None);
    service.use_cases.dispatcher.catch_up().await.unwrap();
    service.get("/team").await;
    // A request with a body is always routed.
    service.call(TestRequest::get().uri("/team?x=1").set_payload("ignored")).await;
    service.get("/guilds").await;
    service.get("/nothing").await;
    service.manage(put("/bot/guilds/7", &sample::guild())).await;
    service.manage(put("/bot/guilds/8", &sample::guild())).await;
    service.manage(delete("/bot/guilds/x")).await;
    service.call_management(delete("/bot/guilds/7")).await;
    let page = service.metrics().await;
    for (listener, endpoint, code, count) in [
        ("public", "/team", "200", 2.0),
        ("public", "/team", "503", 0.0),
        ("public", "/guilds", "401", 1.0),
        ("public", "none", "404", 1.0),
        ("public", "none", "500", 1.0),
        ("management", "/bot/guilds/{guild}", "200", 2.0),
        ("management", "/bot/guilds/{guild}", "422", 1.0),
        ("management", "none", "401", 1.0),
    ] {
        let labels = format!("listener=\"{listener}\",endpoint=\"{endpoint}\"");
        let sample = format!("companion_http_requests_total{{{labels},code=\"{code}\"}}");
        assert_eq!(value(&page, &sample), Some(count), "{sample}");
    }
    let labels = "listener=\"public\",endpoint=\"/team\"";
    let duration = "companion_http_request_duration_seconds";
    assert_eq!(value(&page, &format!("{duration}_count{{{labels}}}")), Some(2.0));
    assert_eq!(value(&page, &format!("{duration}_bucket{{{labels},le=\"+Inf\"}}")), Some(2.0));
    assert!(value(&page, &format!("{duration}_sum{{{labels}}}")).is_some_and(|sum| sum < 10.0));
}

#[actix_web::test]
async fn counts_sign_ins_by_outcome() {
    let service = Service::new().await;
    service.signed_in(vec![]).await;
    service.call(post_code("wrong")).await;
    service.call(TestRequest::post().uri("/auth")).await;
    let page = service.metrics().await;
    for (outcome, count) in
        [("success", 1.0), ("idp_code_invalid", 1.0), ("idp_code_missing", 1.0), ("blocked", 0.0)]
    {
        assert_eq!(value(&page, &format!("companion_sign_ins_total{{outcome=\"{outcome}\"}}")), Some(count));
    }
}

#[actix_web::test]
async fn requests_add_no_series_and_no_secrets() {
    let service = Service::new().await;
    let lines = |page: &str| {
        page.lines().map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect::<BTreeSet<_>>()
    };
    let ask_for = async |number: u32| {
        service.get(&format!("/made-up/{number}")).await;
        service.manage(put(&format!("/bot/guilds/{number}"), &sample::guild())).await;
    };
    ask_for(100).await;
    service.metrics().await;
    let before = service.metrics().await;
    let code = service.code_of(a_user(1), vec![]);
    let token = service.call(post_code(&code)).await.data()["token"].as_str().unwrap().to_owned();
    for number in 1..50 {
        ask_for(number).await;
    }
    let after = service.metrics().await;
    assert_eq!(lines(&before), lines(&after));
    for secret in [&code, &token, KEY] {
        assert!(!after.contains(secret));
    }
}

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
async fn readiness_follows_the_check_and_liveness_does_not() {
    let ready = get(None, "/health/ready").await;
    assert_eq!(ready.data(), json!({}));
    assert_eq!(ready.header("cache-control"), "no-store");
    let not = get(Some("draining"), "/health/ready").await;
    not.assert_error(503, "not_ready");
    assert_eq!(not.json()["message"], "Not ready for traffic: draining.");
    assert_eq!(get(Some("draining"), "/health/live").await.data(), json!({}));
}

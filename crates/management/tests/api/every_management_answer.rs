//! One answer of every kind that the management API gives.

use crate::{
    answer::Answer,
    faulty::Fault,
    guesses, sample,
    service::{FEED_KEY, METRICS_KEY, Service, Unready},
};
use actix_web::{error::PayloadError, http::Method, test::TestRequest};
use companion_domain::port::StoreErrorKind;
use companion_storage_memory::MemoryStorage;
use futures_util::stream;
use serde_json::{Value, json};
use std::sync::Arc;

const OPEN: [(&str, &str); 4] =
    [("get", "/health/live"), ("get", "/health/ready"), ("get", "/openapi.json"), ("get", "/docs")];

/// Every operation that is locked, with a path that fits it, a body that fits it, and whether it reads its input.
fn locked() -> Vec<(&'static str, &'static str, String, Value)> {
    let mut locked: Vec<_> = [
        ("get", "/metrics", "/metrics"),
        ("get", "/sessions", "/sessions?user=1"),
        ("get", "/users/{user}", "/users/1"),
        ("post", "/sessions/sign-out", "/sessions/sign-out"),
        (
            "delete",
            "/sessions/{id}",
            concat!("/sessions/0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"),
        ),
        ("delete", "/users/{user}/sessions", "/users/1/sessions"),
        ("delete", "/users/{user}", "/users/1"),
        ("put", "/bot/blocked/{user}", "/bot/blocked/5"),
        ("get", "/bot/blocked/{user}", "/bot/blocked/5"),
        ("delete", "/bot/blocked/{user}", "/bot/blocked/5"),
        ("get", "/bot/guilds/{guild}/why/{user}", "/bot/guilds/7/why/1"),
        ("post", "/bot/sync", "/bot/sync"),
    ]
    .into_iter()
    .map(|(method, path, concrete)| (method, path, concrete.to_owned(), Value::Null))
    .collect();
    let kept = [
        "/bot/guilds/{guild}",
        "/bot/guilds/{guild}/members/{user}",
        "/bot/plus/{user}",
        "/bot/staff/{user}",
        "/bot/feedback/{id}",
    ];
    for (path, (concrete, body, _)) in kept.into_iter().zip(sample::everything_put()) {
        locked.push(("put", path, concrete.to_owned(), body));
    }
    for (path, (concrete, ..)) in kept.into_iter().zip(sample::everything_put()) {
        locked.push(("get", path, concrete.to_owned(), Value::Null));
    }
    for (path, (concrete, ..)) in kept.into_iter().zip(sample::everything_put()).rev() {
        locked.push(("delete", path, concrete.to_owned(), Value::Null));
    }
    locked.push(("put", "/bot/team", "/bot/team".to_owned(), json!([sample::team_member("5", "A")])));
    let heartbeat = sample::heartbeat("0", 1.0, 2.0);
    locked.push((
        "put",
        "/bot/clusters/{cluster}/heartbeat",
        "/bot/clusters/c/heartbeat".to_owned(),
        heartbeat,
    ));
    locked
}

fn request(method: &str, path: &str, body: &Value) -> TestRequest {
    let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
    let request = TestRequest::default().method(method).uri(path);
    if body.is_null() { request } else { request.set_payload(body.to_string()) }
}

/// Every answer, with the operation it belongs to.
pub(crate) async fn every_management_answer() -> Vec<(&'static str, &'static str, Answer)> {
    let mut answers = Vec::new();
    let service = Service::new().await;
    let large = |path: &str| vec![b'x'; sample::larger_than_any(path)];

    for (method, path) in OPEN {
        let open =
            |body: Vec<u8>| service.call_management(request(method, path, &Value::Null).set_payload(body));
        answers.push((method, path, open(Vec::new()).await));
        answers.push((method, path, open(large(path)).await));
    }
    let unready = Service::with(|plan| plan.readiness = Arc::new(Unready("draining"))).await;
    let asked = TestRequest::get().uri("/health/ready");
    answers.push(("get", "/health/ready", unready.call_management(asked).await));

    tokio::time::pause();
    let held_up = guesses::guessed_by("203.0.113.9").await;
    let token = service.signed_in(vec![]).await;
    // Refused before it begins; it would have no end.
    let watch = ("get", "/bot/changes", "/bot/changes?kinds=x".to_owned(), Value::Null);
    for (method, path, concrete, body) in locked().into_iter().chain([watch]) {
        let with_token = || {
            let request = request(method, &concrete, &body);
            if path == "/sessions/sign-out" { request.insert_header(("Token", &*token)) } else { request }
        };
        // The key is wrong, once or too often, or for something else, or the body is too large.
        let guessed = with_token().peer_addr(([203, 0, 113, 9], 5000).into());
        answers.push((method, path, held_up.call_management(guessed).await));
        answers.push((method, path, service.call_management(with_token()).await));
        let wrong = with_token().insert_header(("Authorization", "Bearer wrong"));
        answers.push((method, path, service.call_management(wrong).await));
        let other = if path == "/metrics" { FEED_KEY } else { METRICS_KEY };
        let other = with_token().insert_header(("Authorization", format!("Bearer {other}")));
        answers.push((method, path, service.call_management(other).await));
        if path != "/bot/sync" {
            answers.push((method, path, service.manage(with_token().set_payload(large(path))).await));
        }
        // The input is wrong: an id or a query, or else the body.
        if !matches!(path, "/metrics" | "/sessions/sign-out") {
            let wrong = path.replace(['{', '}'], "~");
            let wrong = match path {
                "/bot/sync" => "/bot/sync?replace=x".to_owned(),
                "/bot/changes" => concrete.clone(),
                _ => wrong,
            };
            let refused = request(method, &wrong, &body).set_payload("{}");
            answers.push((method, path, service.manage(refused).await));
        }
        // Everything is well.
        answers.push((method, path, service.manage(with_token()).await));
    }
    let list = Service::new().await;
    list.signed_in(vec![]).await;
    answers.push(("get", "/sessions", list.manage(TestRequest::get().uri("/sessions?user=1")).await));

    // What only some can get wrong.
    for (path, unknown) in [
        ("/bot/guilds/{guild}", "/bot/guilds/99"),
        ("/bot/guilds/{guild}/members/{user}", "/bot/guilds/99/members/1"),
        ("/bot/plus/{user}", "/bot/plus/99"),
        ("/bot/staff/{user}", "/bot/staff/99"),
        ("/bot/feedback/{id}", "/bot/feedback/99"),
        ("/bot/blocked/{user}", "/bot/blocked/99"),
        ("/users/{user}", "/users/99"),
    ] {
        answers.push(("get", path, service.manage(TestRequest::get().uri(unknown)).await));
    }
    let member = "/bot/guilds/{guild}/members/{user}";
    let unknown = "/bot/guilds/99/members/1";
    answers.push(("delete", member, service.manage(TestRequest::delete().uri(unknown)).await));
    answers.push(("put", member, service.manage(request("put", unknown, &json!({"roles": []}))).await));
    let sign_out = || TestRequest::post().uri("/sessions/sign-out");
    for wrong in [
        sign_out(),
        sign_out().insert_header(("Token", "wrong")),
        sign_out().insert_header(("Token", "a")).append_header(("Token", "b")),
    ] {
        answers.push(("post", "/sessions/sign-out", service.manage(wrong).await));
    }
    let broken = vec![Err(PayloadError::Incomplete(None))];
    let sync = TestRequest::post().uri("/bot/sync");
    answers.push(("post", "/bot/sync", service.manage_streaming(sync, broken).await));
    let sync = TestRequest::post().uri("/bot/sync");
    answers.push(("post", "/bot/sync", service.manage_stream(sync, stream::pending()).await));

    // Nothing of it is kept in the store.
    let elsewhere = Service::with(|plan| {
        let (memory, stores) = (Arc::new(MemoryStorage::new()), &mut plan.memory.ports.stores);
        let outside = stores.clone().with_blocked(memory.clone()).with_feedback(memory.clone());
        *stores = outside.with_guilds(memory.clone()).with_team(memory.clone()).with_telemetry(memory);
    })
    .await;
    for (method, path, concrete, body) in
        locked().into_iter().filter(|(_, path, ..)| path.starts_with("/bot/"))
    {
        let concrete = if path == "/bot/sync" { "/bot/sync?replace=all" } else { &concrete };
        answers.push((method, path, elsewhere.manage(request(method, concrete, &body)).await));
    }

    // The store is at fault.
    for fault in [Fault::Fails(StoreErrorKind::Unavailable), Fault::Fails(StoreErrorKind::Corrupt)] {
        for (method, path, concrete, body) in locked() {
            let service = Service::new().await;
            let token = service.signed_in(vec![]).await;
            service.store.set(Some(fault));
            let request = request(method, &concrete, &body).insert_header(("Token", token));
            answers.push((method, path, service.manage(request).await));
        }
    }
    answers
}

//! One response of every kind that the public API and the management API give.

use crate::{
    document::{operations, scope_of},
    key::guessed_by,
    sample,
    service::{
        Answer, BODY_LIMIT, FEED_KEY, Fault, METRICS_KEY, Service, Unready, overloaded, post_code,
        unconfigured, used_up_by,
    },
};
use actix_web::{error::PayloadError, http::Method, test::TestRequest};
use companion_domain::{
    model::{Guild, Roster},
    port::{Clock as _, IdentityErrorKind, Mutation, Record, StoreErrorKind},
};
use companion_storage_memory::{CodeTerms, IdentityCall, MemoryStorage};
use companion_testkit::world::{
    a_feedback, a_guild, a_heartbeat, a_subscription, a_team_member, an_ownership, user_id,
};
use futures_util::stream;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// Returns every response, with its operation.
pub(crate) async fn every_public_answer() -> Vec<(&'static str, &'static str, Answer)> {
    let mut answers = Vec::new();
    let service = Service::new().await;
    let get = |path: &str| TestRequest::get().uri(path);
    let large = || vec![b'x'; BODY_LIMIT + 1];

    // Success, first with empty data and then with records.
    let token = service.signed_in(vec![an_ownership(7), an_ownership(8)]).await;
    let with_token = |path: &str| TestRequest::get().uri(path).insert_header(("Token", &*token));
    for filled in [false, true] {
        if filled {
            fill(&service).await;
        }
        for path in ["/", "/feedback", "/team"] {
            answers.push(("get", path, service.get(path).await));
        }
        answers.push(("get", "/guilds", service.call(with_token("/guilds")).await));
    }
    let code = service.code_again(user_id(1));
    answers.push(("post", "/auth", service.call(post_code(&code)).await));
    answers.push(("get", "/", service.call(get("/").insert_header(("Sent-Epoch", "1767268799.5"))).await));
    answers.push(("get", "/team", service.call(get("/team").insert_header(("If-None-Match", "*"))).await));

    // Client errors.
    for path in ["/", "/feedback", "/team"] {
        answers.push(("get", path, service.call(get(path).set_payload(large())).await));
    }
    answers.push(("get", "/guilds", service.call(with_token("/guilds").set_payload(large())).await));
    answers.push(("get", "/guilds", service.get("/guilds").await));
    answers.push(("get", "/guilds", service.guilds("wrong").await));
    answers.push(("get", "/guilds", service.call(with_token("/guilds").append_header(("Token", "b"))).await));
    answers.push(("post", "/auth", service.call(post_code("code").set_payload(large())).await));
    answers.push(("post", "/auth", service.call(TestRequest::post().uri("/auth")).await));
    answers.push(("post", "/auth", service.call(post_code("wrong")).await));
    answers.push(("post", "/auth", service.call(post_code("a").append_header(("Idp-Code", "b"))).await));
    answers.push(("post", "/auth", service.call(post_code("a").insert_header(("Origin", "null"))).await));

    let scopeless = CodeTerms { scope: Some("identify".to_owned()), ..CodeTerms::default() };
    let scopeless = service.memory.identity.issue_code_for(user_id(1), scopeless);
    answers.push(("post", "/auth", service.call(post_code(&scopeless)).await));

    let held_up = used_up_by("203.0.113.9").await;
    let again = post_code("wrong").peer_addr(([203, 0, 113, 9], 5000).into());
    answers.push(("post", "/auth", held_up.call(again).await));

    // Provider errors.
    service.memory.clock.advance(Duration::from_secs(25 * 60 * 60));
    for kind in
        [IdentityErrorKind::Failed, IdentityErrorKind::TimedOut, IdentityErrorKind::Limited(Duration::ZERO)]
    {
        for call in [IdentityCall::Exchange, IdentityCall::Guilds] {
            service.memory.identity.fail_with(call, Some(kind));
        }
        answers.push(("post", "/auth", service.call(post_code(&service.code_again(user_id(1)))).await));
        // A failed refresh is not retried for a while.
        service.memory.clock.advance(Duration::from_secs(11));
        answers.push(("get", "/guilds", service.call(with_token("/guilds")).await));
    }
    for call in [IdentityCall::Exchange, IdentityCall::Guilds] {
        service.memory.identity.fail_with(call, None);
    }

    // A blocked user.
    service.put(Record::Blocked(user_id(1))).await;
    answers.push(("get", "/guilds", service.call(with_token("/guilds")).await));
    answers.push(("post", "/auth", service.call(post_code(&service.code_again(user_id(1)))).await));

    // Missing configuration.
    answers.push(("post", "/auth", unconfigured().await.call(post_code("code")).await));

    // Server errors.
    answers.push(("post", "/auth", overloaded().await));
    for fault in
        [Fault::Fails(StoreErrorKind::Unavailable), Fault::Fails(StoreErrorKind::Corrupt), Fault::Panics]
    {
        service.store.set(Some(fault));
        answers.push(("get", "/guilds", service.call(with_token("/guilds")).await));
        answers.push(("post", "/auth", service.call(post_code(&service.code_again(user_id(1)))).await));
    }
    let unloaded = Service::unloaded().await;
    for fault in [Fault::Fails(StoreErrorKind::Unavailable), Fault::Panics] {
        unloaded.store.set(Some(fault));
        answers.push(("get", "/feedback", unloaded.get("/feedback").await));
    }
    answers.push(("get", "/", unloaded.get("/").await));
    answers.push(("get", "/team", unloaded.get("/team").await));
    answers
}

async fn fill(service: &Service) {
    service.put(Record::Guild(a_guild(7))).await;
    service.put(Record::Guild(Guild { icon: None, ..a_guild(8) })).await;
    service.put(Record::Subscription(a_subscription(3, &[7]))).await;
    for number in 0..7 {
        service.put(Record::Feedback(a_feedback(&format!("entry-{number}"), 4 + number % 2))).await;
    }
    let team = Roster::new(vec![a_team_member(1, "Support", -1)]).unwrap();
    service.write(Mutation::ReplaceTeam(team)).await;
    service.write(Mutation::Report(a_heartbeat("one", service.memory.clock.now()))).await;
}

pub(crate) const OPEN: [(&str, &str); 4] =
    [("get", "/health/live"), ("get", "/health/ready"), ("get", "/openapi.json"), ("get", "/docs")];

/// Returns every operation that needs a key and has an end, with a matching path and body, in an order in which all succeed.
fn locked() -> Vec<(&'static str, &'static str, String, Value)> {
    let has_end = |path: &str| path != "/bot/changes";
    let locked = operations().filter(|(_, path, operation)| has_end(path) && scope_of(operation).is_some());
    let mut locked: Vec<_> = locked
        .map(|(method, path, operation)| {
            let user = if path.starts_with("/users") || path.contains("/why/") { "1" } else { "5" };
            let concrete = match path {
                "/sessions" => "/sessions?user=1".to_owned(),
                "/sessions/{id}" => format!("/sessions/{}", "0123456789abcdef".repeat(4)),
                _ => path.replace("{guild}", "7").replace("{user}", user).replace("{id}", "f"),
            };
            let body = match operation["operationId"].as_str().unwrap() {
                // A stream without lines.
                "sync" => Value::Null,
                "patchSettings" => json!({"values": {}}),
                "putApplied" => json!({"revision": 0}),
                _ => operation["requestBody"]["content"]["application/json"]["example"].clone(),
            };
            (method, path, concrete.replace("{cluster}", "c"), body)
        })
        .collect();
    let order = ["put", "get", "patch", "post", "delete"];
    locked.sort_by_key(|(method, path, ..)| (order.iter().position(|known| known == method), *path));
    // What belongs to a guild is removed before it.
    let kept = locked.partition_point(|(method, ..)| *method != "delete");
    locked[kept..].reverse();
    locked
}

fn request(method: &str, path: &str, body: &Value) -> TestRequest {
    let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
    let request = TestRequest::default().method(method).uri(path);
    if body.is_null() { request } else { request.set_payload(body.to_string()) }
}

/// Returns every response, with its operation.
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
    let held_up = guessed_by("203.0.113.9").await;
    let token = service.signed_in(vec![]).await;
    // Refused before it begins, because the stream has no end.
    let watch = ("get", "/bot/changes", "/bot/changes?kinds=x".to_owned(), Value::Null);
    for (method, path, concrete, body) in locked().into_iter().chain([watch]) {
        let with_token = || {
            let request = request(method, &concrete, &body);
            if path == "/sessions/sign-out" { request.insert_header(("Token", &*token)) } else { request }
        };
        // The key is rate-limited, missing, wrong or without the scope, or the body is too large.
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
        // Invalid input: an id, a query or the body.
        if !matches!(path, "/metrics" | "/sessions/sign-out") {
            let wrong = path.replace(['{', '}'], "~");
            let wrong = match path {
                "/bot/sync" => "/bot/sync?replace=x".to_owned(),
                "/bot/changes" => concrete.clone(),
                "/bot/settings/guilds" => format!("{path}?shard=x"),
                _ => wrong,
            };
            let refused = request(method, &wrong, &body).set_payload("{}");
            answers.push((method, path, service.manage(refused).await));
        }
        // Success.
        answers.push((method, path, service.manage(with_token()).await));
    }
    let list = Service::new().await;
    list.signed_in(vec![]).await;
    answers.push(("get", "/sessions", list.manage(TestRequest::get().uri("/sessions?user=1")).await));

    // Errors of some operations only.
    for (path, unknown) in [
        ("/bot/guilds/{guild}", "/bot/guilds/99"),
        ("/bot/guilds/{guild}/members/{user}", "/bot/guilds/99/members/1"),
        ("/bot/plus/{user}", "/bot/plus/99"),
        ("/bot/staff/{user}", "/bot/staff/99"),
        ("/bot/feedback/{id}", "/bot/feedback/99"),
        ("/bot/notices/{id}", "/bot/notices/99"),
        ("/bot/blocked/{user}", "/bot/blocked/99"),
        ("/users/{user}", "/users/99"),
    ] {
        answers.push(("get", path, service.manage(TestRequest::get().uri(unknown)).await));
    }
    let member = "/bot/guilds/{guild}/members/{user}";
    let unknown = "/bot/guilds/99/members/1";
    answers.push(("delete", member, service.manage(TestRequest::delete().uri(unknown)).await));
    answers.push(("put", member, service.manage(request("put", unknown, &json!({"roles": []}))).await));
    let (outline, unknown) = ("/bot/guilds/{guild}/outline", "/bot/guilds/99/outline");
    answers.push(("get", outline, service.manage(TestRequest::get().uri(unknown)).await));
    answers.push(("delete", outline, service.manage(TestRequest::delete().uri(unknown)).await));
    answers.push(("put", outline, service.manage(request("put", unknown, &sample::outline())).await));
    let settings = "/bot/guilds/{guild}/settings";
    service.manage(request("put", "/bot/guilds/7", &sample::guild())).await;
    for revision in ["7", "\"7\""] {
        let change = request("patch", "/bot/guilds/7/settings", &json!({"values": {}}));
        answers.push(("patch", settings, service.manage(change.insert_header(("If-Match", revision))).await));
    }
    let unpublished = Service::new().await;
    answers.push(("get", "/bot/settings", unpublished.manage(TestRequest::get().uri("/bot/settings")).await));
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
    answers.push(("post", "/bot/sync", service.manage_stream(sync, stream::iter(broken)).await));
    let sync = TestRequest::post().uri("/bot/sync");
    answers.push(("post", "/bot/sync", service.manage_stream(sync, stream::pending()).await));

    // None of these kinds is kept in the store.
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

    // Store errors.
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

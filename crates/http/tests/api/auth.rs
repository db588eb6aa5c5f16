//! `POST /auth`.

use crate::{
    faulty::Fault,
    refusing::{overloaded, unconfigured},
    service::{DASHBOARD, Service, origin, post_code},
};
use actix_web::test::TestRequest;
use companion_domain::port::{IdentityErrorKind, Record, SessionStore as _, StoreErrorKind};
use companion_http::Redirects;
use companion_storage_memory::{CodeTerms, IdentityCall};
use companion_testkit::world::{a_user, user_id};
use serde_json::json;
use std::{collections::HashMap, time::Duration};

#[actix_web::test]
async fn a_code_becomes_a_session_with_its_user() {
    let service = Service::new().await;
    let answer = service.call(post_code(&service.code_of(a_user(1), vec![]))).await;
    let mut data = answer.data();
    let token = data["token"].take();
    assert!(token.as_str().is_some_and(|token| token.starts_with("cmp_") && token.len() == 68));
    let user = json!({
        "username": "user1", "name": "User 1", "id": "1", "avatar": "https://cdn.example/avatars/1.png"
    });
    assert_eq!(data, json!({"token": null, "user": user}));
    assert_eq!(answer.header("cache-control"), "private, no-store");
    assert_eq!(service.guilds(token.as_str().unwrap()).await.status, 200);
}

#[actix_web::test]
async fn a_missing_or_empty_code_is_told_from_an_invalid_one() {
    let service = Service::new().await;
    service.call(TestRequest::post().uri("/auth")).await.assert_error(401, "idp_code_missing");
    service.call(post_code("")).await.assert_error(401, "idp_code_missing");
    for refused in ["unknown", "with space", &"x".repeat(1025)] {
        service.call(post_code(refused)).await.assert_error(401, "idp_code_invalid");
    }
    assert_eq!(
        service.memory.identity.calls(IdentityCall::Exchange),
        1,
        "only the well-formed one is asked about"
    );
}

#[actix_web::test]
async fn a_code_sent_twice_or_not_printable_is_a_bad_request() {
    let service = Service::new().await;
    service.call(post_code("a").append_header(("Idp-Code", "a"))).await.assert_error(400, "header_invalid");
    for bytes in [&b"caf\xc3\xa9"[..], b"\xff", b"tab\tbed"] {
        let request = TestRequest::post().uri("/auth").insert_header(("Idp-Code", bytes));
        let answer = service.call(request).await;
        answer.assert_error(400, "header_invalid");
        assert!(answer.json()["message"].as_str().is_some_and(|message| message.contains("Idp-Code")));
    }
}

#[actix_web::test]
async fn a_used_or_expired_code_is_refused() {
    let service = Service::new().await;
    let code = service.code_of(a_user(1), vec![]);
    assert_eq!(service.call(post_code(&code)).await.status, 200);
    service.call(post_code(&code)).await.assert_error(401, "idp_code_invalid");
    let late = service.code_again(user_id(1));
    service.memory.clock.advance(Duration::from_secs(101));
    service.call(post_code(&late)).await.assert_error(401, "idp_code_invalid");
}

#[actix_web::test]
async fn a_verifier_is_passed_on_and_a_malformed_one_refused() {
    let service = Service::new().await;
    service.memory.identity.put_user(a_user(1), vec![]);
    let verifier = "v".repeat(43);
    let terms = || CodeTerms { verifier: Some(verifier.parse().unwrap()), ..CodeTerms::default() };
    let code = service.memory.identity.issue_code_for(user_id(1), terms());
    let with = |value: &str| post_code(&code).insert_header(("Idp-Code-Verifier", value.to_owned()));
    let refused = service.call(with("short")).await;
    refused.assert_error(400, "header_invalid");
    assert!(refused.json()["message"].as_str().is_some_and(|message| message.contains("Idp-Code-Verifier")));
    let twice = with(&verifier).append_header(("Idp-Code-Verifier", verifier.clone()));
    service.call(twice).await.assert_error(400, "header_invalid");
    assert_eq!(service.call(with(&verifier)).await.status, 200, "a bad request spends no code");
    let other = service.memory.identity.issue_code_for(user_id(1), terms());
    service.call(post_code(&other)).await.assert_error(401, "idp_code_invalid");
}

#[actix_web::test]
async fn a_blocked_user_gets_no_session() {
    let service = Service::new().await;
    service.use_cases.feed.records.put(Record::Blocked(user_id(1))).await.unwrap();
    service.call(post_code(&service.code_of(a_user(1), vec![]))).await.assert_error(403, "blocked");
    assert_eq!(service.memory.storage.of_user(user_id(1)).await.unwrap(), []);
}

#[actix_web::test]
async fn pages_of_other_origins_are_turned_away_before_the_code_is_looked_at() {
    let service = Service::new().await;
    let code = service.code_of(a_user(1), vec![]);
    for stranger in
        ["https://evil.example", "null", "https://dashboard.example:8443", "http://dashboard.example", ""]
    {
        let answer = service.call(post_code(&code).insert_header(("Origin", stranger))).await;
        answer.assert_error(403, "origin_refused");
        assert_eq!(answer.header("access-control-allow-origin"), "");
    }
    let twice = post_code(&code).insert_header(("Origin", DASHBOARD)).append_header(("Origin", DASHBOARD));
    service.call(twice).await.assert_error(403, "origin_refused");
    let nothing = TestRequest::post().uri("/auth").insert_header(("Origin", "null"));
    service.call(nothing).await.assert_error(403, "origin_refused");
    assert_eq!(service.call(post_code(&code).insert_header(("Origin", DASHBOARD))).await.status, 200);
}

#[actix_web::test]
async fn the_redirect_comes_from_the_table_of_origins() {
    const OTHER: &str = "https://other.example";
    let service = Service::with(|plan| {
        plan.public.allowed_origins = vec![origin(DASHBOARD), origin(OTHER)];
        plan.public.redirects = Redirects::ByOrigin {
            table: HashMap::from([(origin(DASHBOARD), "https://dashboard.example/in".parse().unwrap())]),
            default: Some("https://backend.example/in".parse().unwrap()),
        };
    })
    .await;
    service.memory.identity.put_user(a_user(1), vec![]);
    let code_for = |redirect: &str| {
        let terms = CodeTerms { redirect: Some(redirect.parse().unwrap()), ..CodeTerms::default() };
        service.memory.identity.issue_code_for(user_id(1), terms)
    };
    let from_page = post_code(&code_for("https://dashboard.example/in")).insert_header(("Origin", DASHBOARD));
    assert_eq!(service.call(from_page).await.status, 200);
    assert_eq!(service.call(post_code(&code_for("https://backend.example/in"))).await.status, 200);
    let untold = post_code(&code_for("https://backend.example/in")).insert_header(("Origin", OTHER));
    service.call(untold).await.assert_error(403, "origin_refused");
}

#[actix_web::test]
async fn sign_in_that_is_not_configured_costs_nobody_a_code() {
    let service = unconfigured().await;
    let code = service.code_of(a_user(1), vec![]);
    // The store would fail if it were asked to note the code.
    service.store.set(Some(Fault::Fails(StoreErrorKind::Unavailable)));
    for request in [post_code(&code), post_code(&code), TestRequest::post().uri("/auth")] {
        service.call(request).await.assert_error(503, "sign_in_not_configured");
    }
    assert_eq!(service.memory.identity.calls(IdentityCall::Exchange), 0);
}

#[actix_web::test]
async fn more_sign_ins_at_once_than_can_be_served_are_turned_away() {
    let refused = overloaded().await;
    refused.assert_error(503, "overloaded");
    assert_eq!(refused.header("retry-after"), "1");
}

#[actix_web::test]
async fn each_failure_of_the_provider_has_its_word() {
    for (kind, status, word) in [
        (IdentityErrorKind::BadGrant, 401, "idp_code_invalid"),
        (IdentityErrorKind::ScopeMissing, 401, "idp_scope_missing"),
        (IdentityErrorKind::TokenRefused, 502, "provider_failed"),
        (IdentityErrorKind::Unreachable, 502, "provider_failed"),
        (IdentityErrorKind::Failed, 502, "provider_failed"),
        (IdentityErrorKind::TimedOut, 504, "provider_timeout"),
        (IdentityErrorKind::Limited(Duration::from_millis(2100)), 503, "provider_limited"),
    ] {
        let service = Service::new().await;
        let code = service.code_of(a_user(1), vec![]);
        service.memory.identity.fail_with(IdentityCall::Exchange, Some(kind));
        let answer = service.call(post_code(&code)).await;
        answer.assert_error(status, word);
        if let IdentityErrorKind::Limited(_) = kind {
            assert_eq!(answer.header("retry-after"), "3", "rounded up");
        }
    }
}

#[actix_web::test]
async fn a_store_that_fails_never_blames_the_caller() {
    for (kind, status, word) in [
        (StoreErrorKind::Unavailable, 503, "storage_unavailable"),
        (StoreErrorKind::Conflict, 503, "storage_unavailable"),
        (StoreErrorKind::Corrupt, 500, "internal"),
    ] {
        let service = Service::new().await;
        let code = service.code_of(a_user(1), vec![]);
        service.store.set(Some(Fault::Fails(kind)));
        service.call(post_code(&code)).await.assert_error(status, word);
        service.store.set(None);
        assert_eq!(service.call(post_code(&code)).await.status, 200, "the code was not lost by it");
    }
}

#[actix_web::test]
async fn a_panic_in_a_sign_in_is_our_bug_and_nothing_more() {
    let service = Service::new().await;
    let code = service.code_of(a_user(1), vec![]);
    service.store.set(Some(Fault::Panics));
    service.call(post_code(&code)).await.assert_error(500, "internal");
    service.store.set(None);
    assert_eq!(service.call(post_code(&code)).await.status, 200);
}

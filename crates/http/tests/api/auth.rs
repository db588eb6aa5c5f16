//! `POST /auth` and `DELETE /auth`: exchanging codes, rate limits, and sign-out.

use crate::service::{DASHBOARD, Fault, REFUSED_CODES, Service, origin, post_code, unconfigured, used_up_by};
use actix_web::{http::Method, test::TestRequest};
use companion_domain::port::{IdentityErrorKind, StoreErrorKind};
use companion_http::Redirects;
use companion_storage_memory::{CodeTerms, IdentityCall};
use companion_testkit::world::{a_user, user_id};
use futures_util::future::{join, join_all};
use serde_json::json;
use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

#[actix_web::test]
async fn exchanges_a_code_for_a_session() {
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
async fn distinguishes_missing_from_invalid_codes() {
    let service = Service::new().await;
    service.call(TestRequest::post().uri("/auth")).await.assert_error(401, "idp_code_missing");
    service.call(post_code("")).await.assert_error(401, "idp_code_missing");
    for refused in ["unknown", "with space", &"x".repeat(1025)] {
        service.call(post_code(refused)).await.assert_error(401, "idp_code_invalid");
    }
    service.call(post_code("a").append_header(("Idp-Code", "a"))).await.assert_error(400, "header_invalid");
    for bytes in [&b"caf\xc3\xa9"[..], b"\xff", b"tab\tbed"] {
        let answer = service.call(TestRequest::post().uri("/auth").insert_header(("Idp-Code", bytes))).await;
        answer.assert_error(400, "header_invalid");
        assert!(answer.json()["message"].as_str().is_some_and(|message| message.contains("Idp-Code")));
    }
    assert_eq!(
        service.memory.identity.calls(IdentityCall::Exchange),
        1,
        "only the well-formed code reaches the provider"
    );
}

#[actix_web::test]
async fn forwards_verifiers_and_rejects_malformed_ones() {
    let service = Service::new().await;
    service.memory.identity.put_user(a_user(1), vec![]);
    let verifier = "v".repeat(43);
    let terms = || CodeTerms { verifier: Some(verifier.parse().unwrap()), ..CodeTerms::default() };
    let code = service.memory.identity.issue_code_for(user_id(1), terms());
    let with = |value: &str| post_code(&code).insert_header(("Idp-Code-Verifier", value.to_owned()));
    for refused in [with("short"), with(&verifier).append_header(("Idp-Code-Verifier", &*verifier))] {
        service.call(refused).await.assert_error(400, "header_invalid");
    }
    assert_eq!(service.call(with(&verifier)).await.status, 200, "a rejected request spends no code");
    let other = service.memory.identity.issue_code_for(user_id(1), terms());
    service.call(post_code(&other)).await.assert_error(401, "idp_code_invalid");
}

#[actix_web::test]
async fn refuses_other_origins_before_reading_the_code() {
    let service = Service::new().await;
    let code = service.code_of(a_user(1), vec![]);
    for other in
        ["https://evil.example", "null", "https://dashboard.example:8443", "http://dashboard.example", ""]
    {
        let answer = service.call(post_code(&code).insert_header(("Origin", other))).await;
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
async fn takes_the_redirect_from_the_table_of_origins() {
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
async fn unconfigured_sign_in_spends_no_code() {
    let service = unconfigured().await;
    let code = service.code_of(a_user(1), vec![]);
    // The store would fail if it were asked to record the code.
    service.store.set(Some(Fault::Fails(StoreErrorKind::Unavailable)));
    for request in [post_code(&code), post_code(&code), TestRequest::post().uri("/auth")] {
        service.call(request).await.assert_error(503, "sign_in_not_configured");
    }
    assert_eq!(service.memory.identity.calls(IdentityCall::Exchange), 0);
}

#[actix_web::test]
async fn a_failing_store_never_blames_the_caller() {
    for (fault, status, word) in [
        (Fault::Fails(StoreErrorKind::Unavailable), 503, "storage_unavailable"),
        (Fault::Fails(StoreErrorKind::Conflict), 503, "storage_unavailable"),
        (Fault::Fails(StoreErrorKind::Corrupt), 500, "internal"),
        (Fault::Panics, 500, "internal"),
    ] {
        let service = Service::new().await;
        let code = service.code_of(a_user(1), vec![]);
        service.store.set(Some(fault));
        service.call(post_code(&code)).await.assert_error(status, word);
        service.store.set(None);
        assert_eq!(service.call(post_code(&code)).await.status, 200, "the code is still valid");
    }
}

fn from(address: &str, code: &str) -> TestRequest {
    post_code(code).peer_addr(format!("{address}:5000").parse().unwrap())
}

#[actix_web::test]
async fn rate_limits_clients_after_refused_codes() {
    let service = used_up_by("203.0.113.9").await;
    let refused = service.call(from("203.0.113.9", "made-up")).await;
    refused.assert_error(429, "rate_limited");
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=20).contains(&wait), "{wait}");
    let code = service.code_of(a_user(1), vec![]);
    assert_eq!(service.call(from("203.0.113.10", &code)).await.status, 200, "other clients are not limited");
}

#[actix_web::test]
async fn names_each_provider_failure_and_counts_those_of_the_client() {
    use {IdentityCall as Call, IdentityErrorKind as Kind};
    for (failure, status, word, counts) in [
        (None, 200, "", false),
        (Some((Call::Exchange, Kind::BadGrant)), 401, "idp_code_invalid", true),
        (Some((Call::Exchange, Kind::ScopeMissing)), 401, "idp_scope_missing", true),
        (Some((Call::User, Kind::TokenRefused)), 502, "provider_failed", true),
        (Some((Call::Exchange, Kind::Unreachable)), 502, "provider_failed", false),
        (Some((Call::Exchange, Kind::Failed)), 502, "provider_failed", false),
        (Some((Call::Exchange, Kind::TimedOut)), 504, "provider_timeout", false),
        (Some((Call::Exchange, Kind::Limited(Duration::from_millis(2100)))), 503, "provider_limited", false),
    ] {
        let service = Service::new().await;
        service.memory.identity.put_user(a_user(1), vec![]);
        if let Some((call, kind)) = failure {
            service.memory.identity.fail_with(call, Some(kind));
        }
        for number in 0..REFUSED_CODES.get() * 2 {
            let answer = service.call(from("203.0.113.9", &service.code_again(user_id(1)))).await;
            let held_up = counts && number >= REFUSED_CODES.get();
            let expected = if held_up { (429, "rate_limited") } else { (status, word) };
            let json = answer.json();
            let answered = (answer.status, json["data"]["error"].as_str().unwrap_or_default());
            assert_eq!(answered, expected, "{failure:?}, {number}");
            if status == 503 {
                assert_eq!(answer.header("retry-after"), "3", "rounded up");
            }
        }
    }
}

/// Posts these codes at once while calls of the provider are held. Asserts that exactly `calls` of them begin. Returns
/// how many posts got each status.
async fn posted_at_once(service: &Service, codes: &[String], calls: u64) -> BTreeMap<u16, usize> {
    let held = service.memory.identity.hold(IdentityCall::Exchange);
    let begun = service.memory.identity.calls(IdentityCall::Exchange);
    let posts = join_all(codes.iter().map(|code| service.call(from("203.0.113.9", code))));
    let released = async {
        service.memory.identity.called(IdentityCall::Exchange, begun + calls).await;
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        assert_eq!(service.memory.identity.calls(IdentityCall::Exchange), begun + calls);
        drop(held);
    };
    let (answers, ()) = join(posts, released).await;
    answers.iter().fold(BTreeMap::new(), |mut counts, answer| {
        *counts.entry(answer.status).or_default() += 1;
        counts
    })
}

#[actix_web::test]
async fn concurrent_attempts_cannot_bypass_the_limit() {
    let service = Service::new().await;
    service.call(from("203.0.113.9", "made-up")).await.assert_error(401, "idp_code_invalid");
    let codes: Vec<_> = (0..20).map(|number| format!("made-up-{number}")).collect();
    let left = REFUSED_CODES.get() - 1;
    let answers = posted_at_once(&service, &codes, left.into()).await;
    assert_eq!(answers, [(401, left as usize), (429, 20 - left as usize)].into());
    assert_eq!(service.memory.identity.calls(IdentityCall::Exchange), u64::from(REFUSED_CODES.get()));
}

#[actix_web::test]
async fn limits_codes_in_flight_per_client_to_256() {
    let service = Service::new().await;
    let codes: Vec<_> = (1..=260).map(|user| service.code_of(a_user(user), vec![])).collect();
    assert_eq!(posted_at_once(&service, &codes, 256).await, [(200, 260)].into(), "the others waited");
}

#[actix_web::test]
async fn posts_of_the_same_code_share_a_slot() {
    let service = Service::new().await;
    let code = service.code_of(a_user(1), vec![]);
    let answers = posted_at_once(&service, &vec![code.clone(); 20], 1).await;
    assert_eq!(answers, [(200, 1), (401, 19)].into(), "codes that were not sent do not count as refusals");
    service.call(from("203.0.113.9", &code)).await.assert_error(401, "idp_code_invalid");
}

#[actix_web::test]
async fn waiting_for_a_slot_times_out() {
    tokio::time::pause();
    let service = Service::new().await;
    service.call(from("203.0.113.9", "made-up")).await.assert_error(401, "idp_code_invalid");
    let _held = service.memory.identity.hold(IdentityCall::Exchange);
    let codes: Vec<_> = (0..REFUSED_CODES.get()).map(|number| format!("slow-{number}")).collect();
    let answers = join_all(codes.iter().map(|code| service.call(from("203.0.113.9", code)))).await;
    let (last, first) = answers.split_last().unwrap();
    last.assert_error(429, "rate_limited");
    first.iter().for_each(|answer| answer.assert_error(504, "provider_timeout"));
}

fn delete(token: &str) -> TestRequest {
    TestRequest::delete().uri("/auth").insert_header(("Token", token.to_owned()))
}

async fn with_sign_out() -> Service {
    Service::with(|plan| plan.public.sign_out = true).await
}

#[actix_web::test]
async fn sign_out_ends_the_session_and_revokes_the_last_grant() {
    let service = with_sign_out().await;
    let token = service.signed_in(vec![]).await;
    let answer = service.call(delete(&token)).await;
    assert_eq!(answer.data(), json!({}));
    assert_eq!(answer.header("cache-control"), "private, no-store");
    service.guilds(&token).await.assert_error(401, "token_invalid");
    service.memory.scheduler.settled().await;
    assert!(!service.memory.identity.is_authorised(user_id(1)));
    service.call(delete(&token)).await.assert_error(401, "token_invalid");
}

#[actix_web::test]
async fn sign_out_validates_token_and_origin() {
    let service = with_sign_out().await;
    service.call(TestRequest::delete().uri("/auth")).await.assert_error(401, "token_missing");
    service.call(delete("nonsense")).await.assert_error(401, "token_invalid");
    service.call(delete("a").append_header(("Token", "b"))).await.assert_error(400, "header_invalid");
    let other = delete("a").insert_header(("Origin", "https://other.example"));
    service.call(other).await.assert_error(403, "origin_refused");
    let preflight = TestRequest::with_uri("/auth").method(Method::OPTIONS);
    assert_eq!(service.call(preflight).await.header("allow"), "POST, DELETE, OPTIONS");
}

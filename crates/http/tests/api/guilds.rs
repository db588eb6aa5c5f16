//! `GET /guilds`.

use crate::{faulty::Fault, service::Service};
use actix_web::test::TestRequest;
use companion_domain::{
    model::Guild,
    policy::Permission,
    port::{IdentityErrorKind, Record, StoreErrorKind},
};
use companion_storage_memory::IdentityCall;
use companion_testkit::world::{a_guild, a_membership, a_subscription, an_ownership, user_id};
use serde_json::json;
use std::time::Duration;

#[actix_web::test]
async fn a_guild_has_exactly_the_fields_of_the_contract() {
    let service = Service::new().await;
    service.use_cases.feed.records.put(Record::Guild(a_guild(7))).await.unwrap();
    service.use_cases.feed.records.put(Record::Subscription(a_subscription(3, &[7, 9]))).await.unwrap();
    let token = service.signed_in(vec![an_ownership(7)]).await;
    let mut data = service.guilds(&token).await.data();
    data[0]["permissions"].take();
    assert_eq!(
        data,
        json!([{
            "name": "Guild 7",
            "id": "7",
            "icon": "https://cdn.example/icons/7.png",
            "members": 42,
            "owner": "1",
            "role": "Owner",
            "service": true,
            "plus": {"plus": {"userid": "3", "guilds": ["7", "9"], "slots": 2}, "active": true},
            "permissions": null,
        }])
    );
}

#[actix_web::test]
async fn every_permission_is_there_in_the_order_of_the_contract() {
    let service = Service::new().await;
    service.use_cases.feed.records.put(Record::Guild(a_guild(7))).await.unwrap();
    let token = service.signed_in(vec![an_ownership(7)]).await;
    let answer = service.guilds(&token).await;
    let permissions = &answer.data()[0]["permissions"];
    assert_eq!(permissions.as_object().map(serde_json::Map::len), Some(20));
    assert_eq!(permissions["MANAGE_SERVER"], true);
    assert_eq!(permissions["FOUNDER"], false);
    let text = String::from_utf8(answer.body).unwrap();
    let places: Vec<_> =
        Permission::ALL.iter().map(|key| text.find(&format!("\"{key}\":")).unwrap()).collect();
    assert!(places.is_sorted(), "{text}");
}

#[actix_web::test]
async fn a_guild_without_icon_or_subscription_has_a_default_picture_and_an_empty_record() {
    let service = Service::new().await;
    let id = 5 << 22;
    service.use_cases.feed.records.put(Record::Guild(Guild { icon: None, ..a_guild(id) })).await.unwrap();
    let token = service.signed_in(vec![an_ownership(id)]).await;
    let data = service.guilds(&token).await.data();
    assert_eq!(data[0]["icon"], "https://cdn.example/embed/avatars/5.png");
    assert_eq!(data[0]["plus"], json!({"plus": {"userid": "", "guilds": [], "slots": 0}, "active": false}));
}

#[actix_web::test]
async fn the_list_says_how_old_it_is_and_is_never_cached() {
    let service = Service::new().await;
    let token = service.signed_in(vec![a_membership(7)]).await;
    service.memory.clock.advance(Duration::from_millis(42_900));
    let answer = service.guilds(&token).await;
    assert_eq!(answer.data(), json!([]));
    assert_eq!(answer.header("age"), "42");
    assert_eq!(answer.header("cache-control"), "private, no-store");
}

#[actix_web::test]
async fn a_missing_or_empty_token_is_told_from_an_invalid_one() {
    let service = Service::new().await;
    service.get("/guilds").await.assert_error(401, "token_missing");
    service.guilds("").await.assert_error(401, "token_missing");
    let long = "x".repeat(100_000);
    for refused in ["x", "cmp_", "with space", &long] {
        service.guilds(refused).await.assert_error(401, "token_invalid");
    }
}

#[actix_web::test]
async fn a_token_sent_twice_or_not_printable_is_a_bad_request() {
    let service = Service::new().await;
    let token = service.signed_in(vec![]).await;
    let twice =
        TestRequest::get().uri("/guilds").insert_header(("Token", &*token)).append_header(("Token", &*token));
    service.call(twice).await.assert_error(400, "header_invalid");
    let bytes = TestRequest::get().uri("/guilds").insert_header(("Token", &b"\xe2\x82\xac"[..]));
    service.call(bytes).await.assert_error(400, "header_invalid");
}

#[actix_web::test]
async fn a_session_that_is_over_opens_nothing() {
    let service = Service::new().await;
    let token = service.signed_in(vec![]).await;
    assert_eq!(service.guilds(&token).await.status, 200);
    service.use_cases.sessions.revoke_user(user_id(1)).await.unwrap();
    service.guilds(&token).await.assert_error(401, "token_invalid");
    let other = service.signed_in(vec![]).await;
    service.memory.clock.advance(Duration::from_secs(31 * 24 * 60 * 60));
    service.guilds(&other).await.assert_error(401, "token_invalid");
}

#[actix_web::test]
async fn a_blocked_user_is_told_so() {
    let service = Service::new().await;
    let token = service.signed_in(vec![]).await;
    service.use_cases.feed.records.put(Record::Blocked(user_id(1))).await.unwrap();
    service.guilds(&token).await.assert_error(403, "blocked");
}

#[actix_web::test]
async fn whoever_the_platform_signed_out_has_to_sign_in_again() {
    let service = Service::new().await;
    let token = service.signed_in(vec![]).await;
    service.memory.identity.end_authorisation(user_id(1));
    service.memory.clock.advance(Duration::from_secs(61));
    let answer = service.guilds(&token).await;
    answer.assert_error(401, "token_invalid");
    assert!(answer.json()["message"].as_str().is_some_and(|message| message.contains("Sign in again")));
    service.guilds(&token).await.assert_error(401, "token_invalid");
}

#[actix_web::test]
async fn with_a_list_that_is_too_old_the_caller_is_told_when_to_ask_again() {
    for (kind, retry_after) in [
        (IdentityErrorKind::Unreachable, "1"),
        (IdentityErrorKind::Failed, "1"),
        (IdentityErrorKind::TimedOut, "1"),
        (IdentityErrorKind::Limited(Duration::from_secs(17)), "17"),
    ] {
        let service = Service::new().await;
        let token = service.signed_in(vec![]).await;
        service.memory.identity.fail_with(IdentityCall::Guilds, Some(kind));
        service.memory.clock.advance(Duration::from_secs(25 * 60 * 60));
        let answer = service.guilds(&token).await;
        answer.assert_error(503, "provider_limited");
        assert_eq!(answer.header("retry-after"), retry_after, "{kind}");
    }
}

#[actix_web::test]
async fn a_store_that_fails_signs_nobody_out() {
    for (kind, status, word) in [
        (StoreErrorKind::Unavailable, 503, "storage_unavailable"),
        (StoreErrorKind::Conflict, 503, "storage_unavailable"),
        (StoreErrorKind::Corrupt, 500, "internal"),
    ] {
        let service = Service::new().await;
        let token = service.signed_in(vec![]).await;
        service.store.set(Some(Fault::Fails(kind)));
        service.guilds(&token).await.assert_error(status, word);
    }
}

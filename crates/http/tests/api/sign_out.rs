//! `DELETE /auth`, which has to be switched on.

use crate::service::{DASHBOARD, Service};
use actix_web::{http::Method, test::TestRequest};
use companion_testkit::world::user_id;
use serde_json::json;

fn delete(token: &str) -> TestRequest {
    TestRequest::delete().uri("/auth").insert_header(("Token", token.to_owned()))
}

async fn with_sign_out() -> Service {
    Service::with(|plan| plan.public.sign_out = true).await
}

#[actix_web::test]
async fn it_is_off_by_default() {
    let service = Service::new().await;
    let token = service.signed_in(vec![]).await;
    let answer = service.call(delete(&token)).await;
    answer.assert_error(405, "method_not_allowed");
    assert_eq!(answer.header("allow"), "POST, OPTIONS");
    assert_eq!(service.guilds(&token).await.status, 200);
}

#[actix_web::test]
async fn it_ends_the_session_and_gives_the_last_grant_back() {
    let service = with_sign_out().await;
    let token = service.signed_in(vec![]).await;
    let answer = service.call(delete(&token)).await;
    assert_eq!(answer.data(), json!({}));
    assert_eq!(answer.header("cache-control"), "private, no-store");
    service.guilds(&token).await.assert_error(401, "token_invalid");
    assert!(!service.memory.identity.is_authorised(user_id(1)));
    service.call(delete(&token)).await.assert_error(401, "token_invalid");
}

#[actix_web::test]
async fn its_header_keeps_the_rules_of_the_token() {
    let service = with_sign_out().await;
    service.call(TestRequest::delete().uri("/auth")).await.assert_error(401, "token_missing");
    service.call(delete("nonsense")).await.assert_error(401, "token_invalid");
    service.call(delete("a").append_header(("Token", "b"))).await.assert_error(400, "header_invalid");
    let stranger = delete("a").insert_header(("Origin", "https://stranger.example"));
    service.call(stranger).await.assert_error(403, "origin_refused");
}

#[actix_web::test]
async fn browsers_are_told_of_it() {
    let service = with_sign_out().await;
    let preflight = TestRequest::default()
        .method(Method::OPTIONS)
        .uri("/auth")
        .insert_header(("Origin", DASHBOARD))
        .insert_header(("Access-Control-Request-Method", "DELETE"));
    let answer = service.call(preflight).await;
    assert_eq!(answer.header("access-control-allow-methods"), "POST, DELETE, OPTIONS");
    assert_eq!(answer.header("allow"), "POST, DELETE, OPTIONS");
}

//! `/guilds/{guild}/settings`, which is off by default.

use crate::service::{Answer, Service};
use actix_web::{http::Method, test::TestRequest};
use companion_domain::{
    model::{Guild, Membership, PlatformPermissions},
    port::{IdentityErrorKind, Record},
    settings::Schema,
};
use companion_storage_memory::IdentityCall;
use companion_testkit::world::{a_guild, a_membership, a_user, guild_id, user_id};
use serde_json::{Value, json};
use std::time::Duration;

const PATH: &str = "/guilds/7/settings";

fn schema() -> Schema {
    let section = |key: &str, permission: &str, visible: bool| {
        json!({"key": key, "title": key, "permission": permission, "visible": visible, "fields": [
            {"key": "on", "type": "boolean", "title": "On", "default": true},
        ]})
    };
    let sections =
        [section("a", "MANAGE_SERVER", false), section("b", "FOUNDER", true), section("c", "FOUNDER", false)];
    serde_json::from_value(json!({"sections": sections})).unwrap()
}

fn manager() -> Membership {
    Membership { permissions: PlatformPermissions::from_bits(1 << 5), ..a_membership(7) }
}

/// Returns a service with the endpoint, the schema and guild 7, and the token of its manager.
async fn managed() -> (Service, String) {
    let service = Service::with(|plan| plan.public.guild_settings = true).await;
    service.memory.ports.stores.settings.publish(&schema()).await.unwrap();
    service.put(Record::Guild(Guild { owner: user_id(9), ..a_guild(7) })).await;
    let token = service.signed_in(vec![manager(), a_membership(8)]).await;
    (service, token)
}

async fn get(service: &Service, token: &str) -> Answer {
    service.call(TestRequest::get().uri(PATH).insert_header(("Token", token))).await
}

fn patch(token: &str, revision: &str, values: &Value) -> TestRequest {
    let request = TestRequest::with_uri(PATH).method(Method::PATCH).insert_header(("Token", token));
    request.insert_header(("If-Match", revision)).set_payload(json!({"values": values}).to_string())
}

#[actix_web::test]
async fn the_endpoint_is_off_by_default() {
    let service = Service::new().await;
    let token = service.signed_in(vec![manager()]).await;
    get(&service, &token).await.assert_error(404, "not_found");
}

#[actix_web::test]
async fn sections_show_what_the_user_may_see() {
    let (service, token) = managed().await;
    let answer = get(&service, &token).await;
    assert_eq!(answer.header("cache-control"), "private, no-store");
    let data = answer.data();
    assert_eq!(data["revision"], 0);
    let seen: Vec<_> =
        data["sections"].as_array().unwrap().iter().map(|it| (&it["editable"], it.get("values"))).collect();
    assert_eq!(seen[0], (&json!(true), Some(&json!({"a.on": true}))));
    assert_eq!(seen[1], (&json!(false), Some(&json!({"b.on": true}))));
    assert_eq!(seen[2], (&json!(false), None));
    let not_listed = TestRequest::get().uri("/guilds/8/settings").insert_header(("Token", token.as_str()));
    service.call(not_listed).await.assert_error(404, "not_found");
    get(&service, "no token").await.assert_error(401, "token_invalid");
    service.get(PATH).await.assert_error(401, "token_missing");
}

#[actix_web::test]
async fn a_change_needs_the_revision_and_the_permission() {
    let (service, token) = managed().await;
    let without = TestRequest::with_uri(PATH).method(Method::PATCH).insert_header(("Token", token.as_str()));
    service.call(without.set_payload(r#"{"values":{}}"#)).await.assert_error(428, "precondition_required");
    let changed = service.call(patch(&token, "\"0\"", &json!({"a.on": false}))).await.data();
    assert_eq!(
        (&changed["revision"], &changed["sections"][0]["values"]),
        (&json!(1), &json!({"a.on": false}))
    );
    service.call(patch(&token, "\"0\"", &json!({"a.on": true}))).await.assert_error(412, "settings_changed");
    service
        .call(patch(&token, "\"1\"", &json!({"b.on": false})))
        .await
        .assert_error(403, "permission_missing");
    service.call(patch(&token, "\"1\"", &json!({"a.on": 1}))).await.assert_invalid(&["values.a.on"]);
    let history = service.use_cases.settings.store.history(guild_id(7)).await.unwrap();
    assert_eq!(
        (history.len(), history[0].edit.by, history[0].edit.via.as_str()),
        (1, Some(user_id(1)), "api")
    );
}

#[actix_web::test]
async fn a_role_that_was_taken_away_changes_nothing() {
    let (service, token) = managed().await;
    assert_eq!(service.call(patch(&token, "\"0\"", &json!({"a.on": false}))).await.status, 200);
    service.memory.identity.put_user(a_user(1), vec![a_membership(7)]);
    service.memory.clock.advance(Duration::from_secs(61));
    service.call(patch(&token, "\"1\"", &json!({"a.on": true}))).await.assert_error(404, "not_found");
}

#[actix_web::test]
async fn a_list_that_cannot_be_refreshed_changes_nothing() {
    let (service, token) = managed().await;
    service.memory.identity.fail_with(IdentityCall::Guilds, Some(IdentityErrorKind::Failed));
    service.memory.clock.advance(Duration::from_secs(61));
    assert_eq!(get(&service, &token).await.status, 200, "the last list is still served");
    let refused = service.call(patch(&token, "\"0\"", &json!({"a.on": false}))).await;
    refused.assert_error(503, "provider_limited");
    assert_eq!(get(&service, &token).await.data()["revision"], 0);
}

#[actix_web::test]
async fn without_stored_tokens_the_sign_in_must_be_of_the_last_hour() {
    let service = Service::with(|plan| {
        plan.public.guild_settings = true;
        plan.rules.keep_tokens = false;
    })
    .await;
    service.memory.ports.stores.settings.publish(&schema()).await.unwrap();
    service.put(Record::Guild(a_guild(7))).await;
    let token = service.signed_in(vec![manager()]).await;
    service.memory.clock.advance(Duration::from_secs(3599));
    assert_eq!(service.call(patch(&token, "\"0\"", &json!({"a.on": false}))).await.status, 200);
    service.memory.clock.advance(Duration::from_secs(2));
    service.call(patch(&token, "\"1\"", &json!({"a.on": true}))).await.assert_error(401, "sign_in_stale");
    assert_eq!(get(&service, &token).await.status, 200, "reading needs no newer sign-in");
}

#[actix_web::test]
async fn pages_of_configured_origins_may_send_changes() {
    let (service, _) = managed().await;
    let preflight = |path: &str| {
        TestRequest::with_uri(path)
            .method(Method::OPTIONS)
            .insert_header(("Origin", crate::service::DASHBOARD))
            .insert_header(("Access-Control-Request-Method", "PATCH"))
    };
    let allowed = service.call(preflight(PATH)).await;
    assert!(allowed.header("access-control-allow-headers").contains("If-Match, Content-Type"));
    assert!(allowed.header("access-control-allow-methods").contains("PATCH"));
    let others = service.call(preflight("/guilds")).await;
    assert!(!others.header("access-control-allow-headers").contains("If-Match"));
}

//! Keys for a part of the management API.

use super::{delete, put, sample};
use crate::{
    answer::Answer,
    captured_log::listening_to_json,
    service::{FEED_KEY, KEY, METRICS_KEY, PEOPLE_KEY, Service},
};
use actix_web::{http::Method, test::TestRequest};
use companion_domain::{model::Secret, port::BlockList as _};
use companion_management::{ManagementKeys, Scope, ScopedKey};
use companion_testkit::world::user_id;
use serde_json::{Value, json};
use std::collections::BTreeSet;

async fn with(service: &Service, key: &str, request: TestRequest) -> Answer {
    service.call_management(request.insert_header(("Authorization", format!("Bearer {key}")))).await
}

/// What the document says of each operation that needs a key: method, path and scope.
fn documented() -> Vec<(String, String, String)> {
    let document = serde_json::to_value(companion_management::openapi()).unwrap();
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap().iter().filter(|(name, _)| *name != "servers") {
            for scope in operation["security"][0]["ManagementKey"].as_array().into_iter().flatten() {
                found.push((method.to_uppercase(), path.clone(), scope.as_str().unwrap().to_owned()));
            }
        }
    }
    found
}

/// An id that is none, and a position that is none: whoever is let in is refused for that, and nothing has an end to wait for.
fn harmless(path: &str) -> String {
    let path = path.replace(['{', '}'], "~");
    if path == "/bot/changes" { path + "?since=~" } else { path }
}

#[actix_web::test]
async fn a_key_opens_what_its_scopes_name_and_nothing_else() {
    let service = Service::new().await;
    let operations = documented();
    assert_eq!(operations.len(), 30);
    for (method, path, scope) in &operations {
        let method: Method = method.parse().unwrap();
        for (key, has) in [(FEED_KEY, "feed"), (PEOPLE_KEY, "people"), (METRICS_KEY, "metrics"), (KEY, scope)]
        {
            let request = TestRequest::default().method(method.clone()).uri(&harmless(path));
            let answer = with(&service, key, request).await;
            if has == scope {
                assert_ne!(answer.status, 403, "{method} {path} with {key}");
            } else {
                answer.assert_error(403, "key_scope_missing");
            }
        }
    }
}

#[actix_web::test]
async fn which_part_of_the_api_needs_which_scope() {
    for (_, path, scope) in documented() {
        let needed = match path.split('/').nth(1).unwrap() {
            "bot" if path.contains("/why/") => "people",
            "bot" => "feed",
            "sessions" | "users" => "people",
            "metrics" => "metrics",
            other => panic!("{other}"),
        };
        assert_eq!(scope, needed, "{path}");
    }
}

#[actix_web::test]
async fn a_refusal_names_the_scope_and_the_key_and_changes_nothing() {
    let service = Service::new().await;
    let answer = with(&service, METRICS_KEY, TestRequest::put().uri("/bot/blocked/1")).await;
    answer.assert_error(403, "key_scope_missing");
    let message = "This needs the scope feed, which the management key monitoring does not have.";
    assert_eq!(answer.json()["message"], message);
    assert!(!service.memory.storage.is_blocked(user_id(1)).await.unwrap());
}

#[actix_web::test]
async fn a_path_that_is_spelled_otherwise_needs_the_same_scope() {
    let service = Service::new().await;
    for path in ["/%75sers/1", "/user%73/1", "/sessions?user=1", "/bot/guilds/7/%77hy/1"] {
        let answer = with(&service, FEED_KEY, TestRequest::get().uri(path)).await;
        assert!([403, 404].contains(&answer.status), "{path}: {}", answer.status);
    }
    for path in ["/health/../users/1", "/health/%2e%2e/users/1", "//users/1"] {
        let answer = service.call_management(TestRequest::get().uri(path)).await;
        assert!([401, 404].contains(&answer.status), "{path}: {}", answer.status);
    }
}

#[actix_web::test]
async fn what_is_not_there_is_the_same_to_every_key() {
    let service = Service::new().await;
    for key in [FEED_KEY, PEOPLE_KEY, METRICS_KEY, KEY] {
        with(&service, key, TestRequest::get().uri("/nothing")).await.assert_error(404, "not_found");
    }
}

#[actix_web::test]
async fn a_key_may_have_several_scopes_and_is_exchanged_while_it_is_used() {
    let key = |text: &str| Secret::new(text.to_owned());
    let both = ScopedKey {
        name: "both".parse().unwrap(),
        key: key("the-first-key"),
        scopes: BTreeSet::from([Scope::Feed, Scope::Metrics]),
    };
    let keys = ManagementKeys::new(&[]).with([both]);
    let service = Service::with(|plan| plan.management.keys = keys.clone()).await;
    let get = |path: &str| TestRequest::get().uri(path);
    assert_eq!(with(&service, "the-first-key", get("/metrics")).await.status, 200);
    assert_eq!(with(&service, "the-first-key", put("/bot/guilds/7", &sample::guild())).await.status, 200);
    with(&service, "the-first-key", get("/users/1")).await.assert_error(403, "key_scope_missing");
    assert_eq!(keys.exchange(&"both".parse().unwrap(), &key("the-second-key")), Ok(true));
    with(&service, "the-first-key", get("/metrics")).await.assert_error(401, "key_invalid");
    assert_eq!(with(&service, "the-second-key", get("/metrics")).await.status, 200);
}

#[actix_web::test]
async fn the_audit_trail_names_the_key() {
    let service = Service::new().await;
    let (lines, _guard) = listening_to_json();
    with(&service, FEED_KEY, TestRequest::put().uri("/bot/blocked/1")).await;
    with(&service, KEY, delete("/bot/blocked/1")).await;
    with(&service, METRICS_KEY, TestRequest::put().uri("/bot/blocked/1")).await;
    let log = lines.take();
    let told: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> =
        told.iter().map(|line| json!([line["action"], line["outcome"], line["key"]])).collect();
    assert_eq!(
        told,
        [
            json!(["block", "success", "bot"]),
            json!(["unblock", "success", "management.key"]),
            json!(["use_management_key", "key_scope_missing", "monitoring"]),
        ]
    );
    for secret in [FEED_KEY, METRICS_KEY, KEY] {
        assert!(!log.contains(secret), "{log}");
    }
}

//! Settings: the schema, values, confirmations and history, as the bot sees them.

use crate::{
    captured_log::listening_to_json,
    delete, put,
    sample::guild,
    service::{Answer, Service},
};
use actix_web::{http::Method, test::TestRequest};
use serde_json::{Value, json};

const SETTINGS: &str = "/bot/guilds/7/settings";

fn schema() -> Value {
    json!({"sections": [
        {"key": "welcome", "title": "Welcome", "permission": "MANAGE_SERVER", "fields": [
            {"key": "on", "type": "boolean", "title": "On", "default": true},
            {"key": "message", "type": "text", "title": "Message", "max_length": 20},
            {"key": "roles", "type": "role", "title": "Roles", "many": {"max": 2}},
        ]},
    ]})
}

/// Returns a service that has guild 7 and the schema.
async fn with_schema() -> Service {
    let service = Service::new().await;
    service.manage(put("/bot/guilds/7", &guild())).await;
    assert_eq!(service.manage(put("/bot/settings", &schema())).await.counts(), [1, 0, 0]);
    service
}

fn patch(values: &Value) -> TestRequest {
    TestRequest::with_uri(SETTINGS).method(Method::PATCH).set_payload(json!({"values": values}).to_string())
}

async fn get(service: &Service, path: &str) -> Answer {
    service.manage(TestRequest::with_uri(path)).await
}

#[actix_web::test]
async fn returns_a_schema_as_published_and_ignores_a_wrong_one() {
    let service = Service::new().await;
    get(&service, "/bot/settings").await.assert_error(404, "not_found");
    service.manage(put("/bot/settings", &schema())).await;
    assert_eq!(service.manage(put("/bot/settings", &schema())).await.counts(), [0, 0, 0]);
    let mut wrong = schema();
    wrong["sections"][0]["permission"] = json!("KING");
    wrong["sections"][0]["fields"][1]["max_length"] = json!(4001);
    wrong["sections"][0]["colour"] = json!("red");
    let refused = service.manage(put("/bot/settings", &wrong)).await;
    refused.assert_invalid(&[
        "sections[0].permission",
        "sections[0].fields[1].max_length",
        "sections[0].colour",
    ]);
    let shown = get(&service, "/bot/settings").await.data();
    assert_eq!(shown["sections"][0]["key"], "welcome");
    assert_eq!(service.manage(put("/bot/settings", &shown)).await.counts(), [0, 0, 0], "it can be sent back");
}

#[actix_web::test]
async fn all_fields_are_shown_with_their_defaults() {
    let service = with_schema().await;
    let expected = json!({
        "revision": 0, "values": {"welcome.on": true, "welcome.message": null, "welcome.roles": null}, "set": [],
        "changed_at": null, "changed_by": null, "applied": null, "problems": [],
    });
    assert_eq!(get(&service, SETTINGS).await.data(), expected);
    get(&service, "/bot/guilds/8/settings").await.assert_error(404, "not_found");
}

#[actix_web::test]
async fn a_change_answers_with_the_settings_after_it() {
    let service = with_schema().await;
    let sent = json!({"values": {"welcome.message": "Hi", "welcome.roles": ["1", "2"]}, "by": "5"});
    let request = TestRequest::with_uri(SETTINGS).method(Method::PATCH).set_payload(sent.to_string());
    let data = service.manage(request).await.data();
    assert_eq!((&data["revision"], &data["changed_by"]), (&json!(1), &json!("5")));
    assert_eq!(data["set"], json!(["welcome.message", "welcome.roles"]));
    assert_eq!(data["values"]["welcome.roles"], json!(["1", "2"]));
    let reset = service.manage(patch(&json!({"welcome.message": null}))).await.data();
    assert_eq!((&reset["revision"], &reset["set"]), (&json!(2), &json!(["welcome.roles"])));
    assert_eq!(service.manage(patch(&json!({"welcome.message": null}))).await.data()["revision"], 2);
    let history = get(&service, "/bot/guilds/7/settings/history").await.data();
    assert_eq!(history[0]["changes"], json!([{"key": "welcome.message", "from": "Hi", "to": null}]));
    assert_eq!(
        (&history[1]["by"], &history[1]["via"], &history[1]["revision"]),
        (&json!("5"), &json!("bot"), &json!(1))
    );
    assert_eq!(service.manage(delete(SETTINGS)).await.counts(), [0, 0, 1]);
    assert_eq!(get(&service, SETTINGS).await.data()["revision"], 0);
}

#[actix_web::test]
async fn one_wrong_value_changes_nothing() {
    let service = with_schema().await;
    let values =
        json!({"welcome.on": false, "welcome.message": "x".repeat(21), "welcome.roles": ["1", "no"]});
    service
        .manage(patch(&values))
        .await
        .assert_invalid(&["values.welcome.message", "values.welcome.roles[1]"]);
    assert_eq!(get(&service, SETTINGS).await.data()["revision"], 0);
    let unknown = TestRequest::with_uri("/bot/guilds/8/settings").method(Method::PATCH);
    service.manage(unknown.set_payload(r#"{"values":{}}"#)).await.assert_error(404, "not_found");
}

#[actix_web::test]
async fn the_bot_confirms_what_it_acts_by() {
    let service = with_schema().await;
    service.manage(patch(&json!({"welcome.message": "Hi"}))).await;
    let path = "/bot/guilds/7/settings/applied";
    let refused = json!({"revision": 1, "problems": [{"key": "welcome.message", "message": "Too short."}]});
    assert_eq!(service.manage(put(path, &refused)).await.counts(), [0, 1, 0]);
    assert_eq!(service.manage(put(path, &refused)).await.counts(), [0, 0, 0]);
    let data = get(&service, SETTINGS).await.data();
    assert_eq!((&data["applied"], &data["problems"]), (&json!(1), &refused["problems"]));
    service.manage(put(path, &json!({"revision": 2}))).await.assert_invalid(&["revision"]);
    service
        .manage(put("/bot/guilds/8/settings/applied", &json!({"revision": 0})))
        .await
        .assert_error(404, "not_found");
}

#[actix_web::test]
async fn what_is_set_is_streamed_by_shard() {
    let service = with_schema().await;
    for shard in 0..3_u64 {
        let id = (shard << 22) + 9;
        service.manage(put(&format!("/bot/guilds/{id}"), &guild())).await;
        let path = format!("/bot/guilds/{id}/settings");
        let body = json!({"values": {"welcome.on": shard == 1}}).to_string();
        service.manage(TestRequest::with_uri(&path).method(Method::PATCH).set_payload(body)).await;
    }
    let lines = async |query: &str| {
        let answer = get(&service, &format!("/bot/settings/guilds{query}")).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, "application/x-ndjson"));
        let text = String::from_utf8(answer.body.to_vec()).unwrap();
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>()
    };
    let all = lines("").await;
    assert_eq!(all.len(), 3);
    let first = json!({"guild": "9", "revision": 1, "applied": null, "values": {"welcome.on": false}});
    assert_eq!(all[0], first);
    assert_eq!(lines("?shard=1&shards=3").await[0]["guild"], ((1_u64 << 22) + 9).to_string());
    get(&service, "/bot/settings/guilds?shard=1").await.assert_invalid(&["shards"]);
}

#[actix_web::test]
async fn the_audit_trail_has_keys_and_no_values() {
    let service = with_schema().await;
    let (lines, _guard) = listening_to_json();
    service.manage(patch(&json!({"welcome.message": "a canary", "welcome.on": false}))).await;
    let log = lines.take();
    assert!(log.contains("change_settings") && log.contains("7 welcome.message,welcome.on"), "{log}");
    assert!(!log.contains("a canary"), "{log}");
    assert!(log.contains(r#""changed":1"#), "{log}");
    service.manage(patch(&json!({"welcome.on": false}))).await;
    let log = lines.take();
    assert!(log.contains(r#""changed":0"#), "nothing has changed: {log}");
}

#[actix_web::test]
async fn a_large_schema_and_change_exceed_the_usual_limit_of_a_body() {
    let service = Service::new().await;
    service.manage(put("/bot/guilds/7", &guild())).await;
    let field = |number: usize| json!({"key": format!("f{number}"), "type": "text", "title": "T", "description": "x".repeat(400)});
    let fields: Vec<_> = (0..200).map(field).collect();
    let large = json!({"sections": [{"key": "a", "title": "A", "permission": "MOD", "fields": fields}]});
    assert!(large.to_string().len() > 64 * 1024);
    assert_eq!(service.manage(put("/bot/settings", &large)).await.counts(), [1, 0, 0]);
    let values: serde_json::Map<_, _> =
        (0..15).map(|number| (format!("a.f{number}"), json!("\u{1}".repeat(4000)))).collect();
    assert_eq!(service.manage(patch(&values.into())).await.data()["revision"], 1);
    let more: serde_json::Map<_, _> =
        (15..17).map(|number| (format!("a.f{number}"), json!("x".repeat(4000)))).collect();
    service.manage(patch(&more.into())).await.assert_invalid(&["values"]);
}

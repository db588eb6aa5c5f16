//! Sample bodies of bot requests.

use super::service::BODY_LIMIT;
use serde_json::{Value, json};

/// Returns a body size that exceeds the limit of a path. Some paths have a higher limit than others.
pub fn larger_than_any(path: &str) -> usize {
    let has_own_limit = ["/bot/team", "/heartbeat", "/outline", "/settings", "/applied"];
    let has_own_limit =
        |path: &str| path.starts_with("/bot/notices/") || has_own_limit.iter().any(|end| path.ends_with(end));
    if has_own_limit(path) { 5_000_000 } else { BODY_LIMIT + 1 }
}

pub fn guild() -> Value {
    json!({
        "name": "Harbour Town", "icon": "https://cdn.example/icons/7.png", "members": 1200, "owner": "1",
        "setup": true, "linked": false, "roles": {"MOD": ["70", "71"], "SESSION_STARTER": []},
    })
}

pub fn notice() -> Value {
    json!({"kind": "incident", "title": "Slow answers", "text": "", "from": 100, "until": 200})
}

pub fn outline() -> Value {
    json!({
        "channels": [{"id": "11", "name": "general", "kind": "text"}],
        "roles": [{"id": "70", "name": "Moderator", "color": "#1ABC9C"}],
    })
}

pub fn user(id: &str) -> Value {
    json!({"username": "owl", "name": "Night Owl", "id": id, "avatar": "https://cdn.example/a.png"})
}

pub fn feedback() -> Value {
    json!({"feedback": "Set up in five minutes.", "rating": 5, "timestamp": 1_767_000_000, "submitter": user("5")})
}

pub fn team_member(id: &str, category: &str) -> Value {
    json!({
        "username": "owl", "name": "Night Owl", "avatar": "https://cdn.example/a.png", "discord_id": id,
        "role": "Lead", "color": "#1abc9C", "category": category, "position": -1,
    })
}

pub fn heartbeat(shard: &str, started_at: f64, memory: f64) -> Value {
    let shard_record = json!({"heartbeatSent": 1, "heartbeatAcknowledged": 1.5, "latency": -3});
    json!({"memory": memory, "started_at": started_at, "shards": {shard: shard_record}})
}

/// Returns every path that accepts PUT, with two different bodies.
pub fn everything_put() -> Vec<(&'static str, Value, Value)> {
    let with = |mut body: Value, field: &str, value: Value| {
        body[field] = value;
        body
    };
    vec![
        ("/bot/guilds/7", guild(), with(guild(), "icon", Value::Null)),
        ("/bot/guilds/7/members/5", json!({"roles": ["70"]}), json!({"roles": []})),
        ("/bot/guilds/7/outline", outline(), with(outline(), "roles", json!([]))),
        ("/bot/plus/5", json!({"guilds": ["7"], "slots": 2}), json!({"guilds": [], "slots": 2})),
        (
            "/bot/staff/5",
            json!({"permissions": ["SUPPORT"]}),
            json!({"permissions": ["FOUNDER", "DOCWRITER"]}),
        ),
        ("/bot/feedback/a-Z_9", feedback(), with(feedback(), "rating", json!(1))),
        ("/bot/notices/a-Z_9", notice(), with(notice(), "until", json!(300))),
    ]
}

/// Returns a record as a line of a sync.
pub fn line(kind: &str, keys: &Value, mut body: Value) -> Value {
    let fields = body.as_object_mut().unwrap();
    fields.insert("kind".to_owned(), json!(kind));
    fields.extend(keys.as_object().unwrap().clone());
    body
}

/// Returns one line of each kind.
pub fn world() -> Vec<Value> {
    vec![
        line("member", &json!({"guild": "7", "user": "5"}), json!({"roles": ["70"]})),
        line("guild", &json!({"id": "7"}), guild()),
        line("outline", &json!({"guild": "7"}), outline()),
        line("plus", &json!({"user": "5"}), json!({"guilds": ["7"], "slots": 1})),
        line("staff", &json!({"user": "5"}), json!({"permissions": ["SUPPORT"]})),
        line("feedback", &json!({"id": "f"}), feedback()),
        line("team", &json!({}), team_member("5", "Support")),
        line("blocked", &json!({"user": "6"}), json!({})),
    ]
}

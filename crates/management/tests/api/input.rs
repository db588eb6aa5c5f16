//! Paths, methods and bodies. Every error is named by its place, and nothing changes.

use crate::{delete, put, sample, service::Service};
use actix_web::{http::Method, test::TestRequest};
use serde_json::{Value, json};

fn request(method: &str, path: &str) -> TestRequest {
    TestRequest::default().method(Method::from_bytes(method.as_bytes()).unwrap()).uri(path)
}

#[actix_web::test]
async fn unknown_paths_and_those_of_the_other_listener_are_404() {
    let service = Service::new().await;
    for path in ["/health/live", "/metrics", "/docs", "/bot/guilds/7", "/bot/team", "/sessions", "/users/5"] {
        for method in ["GET", "PUT", "POST", "DELETE", "OPTIONS"] {
            service.call(request(method, path)).await.assert_error(404, "not_found");
        }
    }
    let of_the_public_api = ["/", "/auth", "/guilds", "/feedback", "/team"];
    let of_none = ["/bot", "/bot/", "/bot/guilds/7/", "/bot/guilds/7/members/5/roles", "/bot/guilds/7/why"];
    for path in of_the_public_api.into_iter().chain(of_none) {
        for method in ["GET", "PUT", "POST", "OPTIONS"] {
            service.manage(request(method, path)).await.assert_error(404, "not_found");
        }
    }
}

#[actix_web::test]
async fn reports_path_and_body_mistakes_together() {
    let service = Service::new().await;
    for (path, segments, fields) in [
        (
            "/bot/guilds/abc",
            &["guild"][..],
            &["name", "icon", "members", "owner", "setup", "linked", "roles"][..],
        ),
        ("/bot/guilds/abc/members/0", &["guild", "user"], &["roles"]),
        ("/bot/plus/abc", &["user"], &["guilds", "slots"]),
        ("/bot/staff/abc", &["user"], &["permissions"]),
        ("/bot/feedback/a.b", &["id"], &["feedback", "rating", "timestamp", "submitter"]),
        ("/bot/clusters/a%2Fb/heartbeat", &["cluster"], &["memory", "started_at", "shards"]),
    ] {
        let answer = service.manage(request("PUT", path).set_payload("{")).await;
        answer.assert_invalid(&[segments, &[""]].concat());
        let answer = service.manage(request("PUT", path).set_payload("{}")).await;
        answer.assert_invalid(&[segments, fields].concat());
        // Fields that repeat the path add no other errors.
        let repeated = r#"{"id": "x", "guild": "x", "user": "x", "cluster": "x"}"#;
        let answer = service.manage(request("PUT", path).set_payload(repeated)).await;
        let unknown: &[&str] = match path {
            "/bot/guilds/abc" | "/bot/feedback/a.b" => &["guild", "user", "cluster"],
            "/bot/guilds/abc/members/0" => &["id", "cluster"],
            "/bot/clusters/a%2Fb/heartbeat" => &["guild", "user"],
            _ => &["id", "guild", "cluster"],
        };
        answer.assert_invalid(&[segments, fields, unknown].concat());
    }
    for (method, path, segments) in [
        ("GET", "/bot/guilds/x/members/y", &["guild", "user"][..]),
        ("DELETE", "/bot/guilds/x/members/y", &["guild", "user"]),
        ("GET", "/bot/guilds/x/why/y", &["guild", "user"]),
        ("DELETE", "/bot/feedback/%C3%A9", &["id"]),
        ("PUT", "/bot/blocked/%20", &["user"]),
        ("DELETE", "/sessions/abc", &["id"]),
        ("DELETE", "/users/x/sessions", &["user"]),
        ("DELETE", "/users/0", &["user"]),
        ("GET", "/sessions", &["user"]),
        ("GET", "/sessions?user=x", &["user"]),
        ("GET", "/sessions?user=1&user=2", &["user"]),
        ("GET", "/sessions?users=1", &["users"]),
    ] {
        service.manage(request(method, path)).await.assert_invalid(segments);
    }
}

#[actix_web::test]
async fn ignores_the_content_type() {
    let service = Service::new().await;
    for kind in ["text/plain", "application/x-www-form-urlencoded", "nonsense"] {
        let request = put("/bot/guilds/7", &sample::guild()).insert_header(("Content-Type", kind));
        assert_eq!(service.manage(request).await.status, 200, "{kind}");
    }
    let ignored = TestRequest::put().uri("/bot/blocked/5").set_payload("{not json");
    assert_eq!(service.manage(ignored).await.counts(), [1, 0, 0], "the body is ignored");
}

#[actix_web::test]
async fn reports_all_invalid_fields_at_once() {
    let service = Service::new().await;
    let guild = json!({
        "name": "", "icon": "ftp://x", "members": -1, "owner": 5, "setup": 1, "linked": null,
        "roles": {"MOD": ["1", 2, "x"], "OWNER": [], "ADMIN": {}}, "nme": "x",
    });
    service.manage(put("/bot/guilds/7", &guild)).await.assert_invalid(&[
        "name",
        "icon",
        "members",
        "owner",
        "setup",
        "linked",
        "roles.MOD[1]",
        "roles.MOD[2]",
        "roles.OWNER",
        "roles.ADMIN",
        "nme",
    ]);
    let everything = ["name", "icon", "members", "owner", "setup", "linked", "roles"];
    service.manage(put("/bot/guilds/7", &json!({}))).await.assert_invalid(&everything);
    assert_eq!(service.manage(delete("/bot/guilds/7")).await.counts(), [0, 0, 0], "nothing was done");

    let plus = json!({"guilds": "7", "slots": 2_147_483_648_u64, "plus": true});
    service.manage(put("/bot/plus/5", &plus)).await.assert_invalid(&["guilds", "slots", "plus"]);
    let staff = json!({"permissions": ["SUPPORT", "MOD", null]});
    let places = ["permissions[1]", "permissions[2]"];
    service.manage(put("/bot/staff/5", &staff)).await.assert_invalid(&places);
    let feedback = json!({
        "feedback": "nul \u{0}", "rating": 6, "timestamp": "now",
        "submitter": {"username": "x", "id": "0", "avatar": "x", "extra": 1},
    });
    service.manage(put("/bot/feedback/f", &feedback)).await.assert_invalid(&[
        "feedback",
        "rating",
        "timestamp",
        "submitter.name",
        "submitter.id",
        "submitter.avatar",
        "submitter.extra",
    ]);
    let shard = json!({"heartbeatSent": null, "latency": "1", "x": 0});
    let heartbeat = json!({"memory": -0.5, "started_at": -1, "shards": {"0": shard, "01": 1, "-1": shard}});
    service.manage(put("/bot/clusters/c/heartbeat", &heartbeat)).await.assert_invalid(&[
        "memory",
        "started_at",
        "shards.0.heartbeatSent",
        "shards.0.heartbeatAcknowledged",
        "shards.0.latency",
        "shards.0.x",
        "shards.01",
        "shards.01",
        "shards.-1",
        "shards.-1.heartbeatSent",
        "shards.-1.heartbeatAcknowledged",
        "shards.-1.latency",
        "shards.-1.x",
    ]);
    let mut member = sample::team_member("5", "A");
    member["color"] = json!("1ABC9C");
    member["position"] = json!(1.5);
    let team = json!([member, 7, sample::team_member("5", "A")]);
    service.manage(put("/bot/team", &team)).await.assert_invalid(&["[0].color", "[0].position", "[1]"]);
}

#[actix_web::test]
async fn rejects_duplicate_members_and_oversized_lists() {
    let service = Service::with(|plan| plan.management.body_limit = 4_000_000).await;
    let twice =
        json!([sample::team_member("5", "A"), sample::team_member("6", "A"), sample::team_member("5", "A")]);
    service.manage(put("/bot/team", &twice)).await.assert_invalid(&["[2]"]);
    let ids = |count: u64| (1..=count).map(|id| id.to_string()).collect::<Vec<_>>();
    let team = Value::Array(ids(251).iter().map(|id| sample::team_member(id, "A")).collect());
    service.manage(put("/bot/team", &team)).await.assert_invalid(&["[250]"]);
    let plus = json!({"guilds": ids(1001), "slots": 0});
    service.manage(put("/bot/plus/5", &plus)).await.assert_invalid(&["guilds"]);
    let mut guild = sample::guild();
    guild["roles"]["MOD"] = json!(ids(501));
    service.manage(put("/bot/guilds/7", &guild)).await.assert_invalid(&["roles.MOD"]);
    guild["roles"]["MOD"] = json!(ids(500));
    assert_eq!(service.manage(put("/bot/guilds/7", &guild)).await.counts(), [1, 0, 0]);
}

/// Escapes each non-ASCII character in the longest form of JSON.
fn escaped(value: &Value) -> String {
    let text = value.to_string();
    let mut escaped = String::new();
    for unit in text.encode_utf16() {
        match u8::try_from(unit) {
            Ok(ascii) if ascii.is_ascii() => escaped.push(char::from(ascii)),
            _ => escaped.push_str(&format!("\\u{unit:04x}")),
        }
    }
    escaped
}

#[actix_web::test]
async fn accepts_the_largest_valid_documents() {
    let service = Service::new().await;
    let longest = "🦉".repeat(256);
    let avatar = format!("https://cdn.example/{}", "\\".repeat(2028));
    let team: Vec<_> = (0..250)
        .map(|place| {
            json!({
                "username": longest, "name": longest, "avatar": avatar, "role": longest, "category": longest,
                "discord_id": (u64::MAX - place).to_string(), "color": "#1ABC9C", "position": i32::MIN,
            })
        })
        .collect();
    let team = TestRequest::put().uri("/bot/team").set_payload(escaped(&json!(team)));
    assert_eq!(service.manage(team).await.counts(), [250, 0, 0]);

    let number = -f64::MIN_POSITIVE;
    let shard = json!({"heartbeatSent": number, "heartbeatAcknowledged": number, "latency": number});
    let shards: serde_json::Map<_, _> =
        (0..4096).map(|place| ((u32::MAX - place).to_string(), shard.clone())).collect();
    let report = json!({"memory": 0.1, "started_at": 253_402_300_799_u64, "shards": shards});
    assert_eq!(service.manage(put("/bot/clusters/c/heartbeat", &report)).await.counts(), [1, 0, 0]);
}

#[actix_web::test]
async fn rejects_bodies_that_are_not_json_objects() {
    let service = Service::new().await;
    let many = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    for body in ["", "{", "nonsense", "{} {}", "{\"name\": 1e999}", many.as_str(), "\u{feff}{}"] {
        let request = TestRequest::put().uri("/bot/guilds/7").set_payload(body.to_owned());
        let answer = service.manage(request).await;
        answer.assert_invalid(&[""]);
        assert!(answer.json().to_string().contains("is not JSON"), "{body}");
    }
    let bytes = TestRequest::put().uri("/bot/guilds/7").set_payload(&b"{\"name\": \"\xff\"}"[..]);
    service.manage(bytes).await.assert_invalid(&[""]);
    for body in [json!([]), json!(null), json!("text"), json!(7), json!(true)] {
        service.manage(put("/bot/guilds/7", &body)).await.assert_invalid(&[""]);
    }
    service.manage(put("/bot/team", &json!({"team": []}))).await.assert_invalid(&[""]);
}

#[actix_web::test]
async fn parses_numbers_as_json_defines_them() {
    let service = Service::new().await;
    let with = |members: &str| {
        let guild = sample::guild().to_string().replace("1200", members);
        TestRequest::put().uri("/bot/guilds/7").set_payload(guild)
    };
    for whole in ["0", "-0", "3", "3.0", "3e0", "1e3", "0.5e1", "2147483647", "2.147483647e9"] {
        assert_eq!(service.manage(with(whole)).await.status, 200, "{whole}");
    }
    for wrong in
        ["-1", "0.5", "1e-1", "2147483648", "1e300", "18446744073709551616", "null", "\"3\"", "true", "[3]"]
    {
        service.manage(with(wrong)).await.assert_invalid(&["members"]);
    }
    let answer = service.manage(with("1e300")).await.json();
    assert_eq!(answer["data"]["fields"][0]["message"], "must be a whole number from 0 to 2147483647");
    for (time, status) in
        [("253402300799.9", 200), ("253402300800", 422), ("-0.5", 422), ("0", 200), ("1.7e9", 200)]
    {
        let feedback = sample::feedback().to_string().replace("1767000000", time);
        let request = TestRequest::put().uri("/bot/feedback/f").set_payload(feedback);
        assert_eq!(service.manage(request).await.status, status, "{time}");
    }
}

#[actix_web::test]
async fn reports_at_most_100_mistakes() {
    let service = Service::with(|plan| plan.management.body_limit = 1_000_000).await;
    let answer = service.manage(put("/bot/team", &json!(vec![0; 5000]))).await;
    assert_eq!(answer.json()["data"]["fields"].as_array().map(Vec::len), Some(100));
    let mut guild = sample::guild();
    guild["roles"] = json!({"ü".repeat(100_000): vec![0; 1000]});
    let answer = service.manage(put("/bot/guilds/7", &guild)).await;
    assert!(answer.body.len() < 50_000, "{}", answer.body.len());
    let path = answer.json()["data"]["fields"][0]["path"].as_str().unwrap().to_owned();
    assert_eq!(path, format!("roles.{}[0]", "ü".repeat(64)));
}

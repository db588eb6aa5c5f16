//! `GET /`, `GET /team` and `GET /guilds`.

use crate::service::{Fault, Service};
use actix_web::{http::Method, test::TestRequest};
use companion_domain::{
    model::{Guild, Heartbeat, Megabytes, Number, Roster, Shard, ShardId, Shards},
    policy::Permission,
    port::{Clock as _, IdentityErrorKind, Mutation, Record, StoreErrorKind},
};
use companion_storage_memory::IdentityCall;
use companion_testkit::world::{a_feedback, a_guild, a_heartbeat, a_membership, a_team_member, an_ownership};
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use std::time::Duration;

async fn reporting() -> Service {
    let service = Service::new().await;
    let heartbeat = a_heartbeat("one", service.memory.clock.now());
    service.write(Mutation::Report(heartbeat.clone())).await;
    service
}

#[actix_web::test]
async fn status_has_the_contract_fields() {
    let service = reporting().await;
    let answer = service.get("/").await;
    let mut data = answer.data();
    let process = data["health"]["api"]["latency"]["process"].take();
    assert!(process.as_f64().is_some_and(|process| (0.0..5000.0).contains(&process)), "{process}");
    let commit = json!({
        "sha": "0123456789abcdef0123456789abcdef01234567",
        "message": "Do one thing",
        "author": "Someone",
        "timestamp": 1_767_000_000,
    });
    let shard = json!({
        "heartbeatSent": 1_767_000_000, "heartbeatAcknowledged": 1_767_000_000.05, "latency": 50
    });
    assert_eq!(
        data,
        json!({
            "version": {"name": "1.2.3", "branch": "main", "commit": commit},
            "resources": {"memory": 128.5},
            "health": {
                "api": {"latency": {"response": null, "process": null}},
                "bot": {
                    "shards": {"0": shard},
                    "uptime": {"readable": "14 days, 16 hours and 26 minutes", "epoch": 1_766_000_000},
                },
            },
        })
    );
    assert_eq!(answer.header("cache-control"), "no-cache");
}

#[actix_web::test]
async fn a_silent_bot_disappears_without_a_change() {
    let service = reporting().await;
    service.memory.clock.advance(Duration::from_secs(89));
    assert_eq!(service.get("/").await.data()["resources"]["memory"], 128.5);
    service.memory.clock.advance(Duration::from_secs(1));
    let answer = service.get("/").await;
    let text = String::from_utf8_lossy(&answer.body);
    assert!(text.contains(r#""resources":{"memory":0.0}"#), "{text}");
    assert_eq!(
        answer.data()["health"]["bot"],
        json!({"shards": {}, "uptime": {"readable": "not reporting", "epoch": 0}})
    );
}

#[actix_web::test]
async fn uptime_follows_the_clock() {
    let service = Service::new().await;
    let clock = &service.memory.clock;
    let started_at = clock.now();
    service.write(Mutation::Report(Heartbeat { started_at, ..a_heartbeat("one", started_at) })).await;
    for (millis, readable) in [(999, "0 seconds"), (1000, "1 second"), (60_000, "1 minute"), (0, "0 seconds")]
    {
        clock.set(started_at.after(Duration::from_millis(millis)));
        assert_eq!(service.get("/").await.data()["health"]["bot"]["uptime"]["readable"], readable);
    }
}

#[actix_web::test]
async fn integers_stay_integers_and_memory_has_two_decimals() {
    let service = Service::new().await;
    let number = Number::Integer(1_767_000_000_000);
    let shard =
        Shard { heartbeat_sent: number, heartbeat_acknowledged: number, latency: Number::Integer(-1) };
    let heartbeat = Heartbeat {
        memory: Megabytes::new(10.0 / 3.0).unwrap(),
        shards: Shards::new([(ShardId::new(4_294_967_295), shard)].into()).unwrap(),
        ..a_heartbeat("one", service.memory.clock.now())
    };
    service.write(Mutation::Report(heartbeat.clone())).await;
    let text = String::from_utf8(service.get("/").await.body).unwrap();
    let shard = r#"{"4294967295":{"heartbeatSent":1767000000000,"heartbeatAcknowledged":1767000000000,"latency":-1}}"#;
    assert!(text.contains(shard), "{text}");
    assert!(text.contains(r#""memory":3.33}"#), "{text}");
}

#[actix_web::test]
async fn measures_latency_from_sent_epoch() {
    let service = Service::new().await;
    let response = async |sent: &str| {
        let answer = service.call(TestRequest::get().uri("/").insert_header(("Sent-Epoch", sent))).await;
        answer.data()["health"]["api"]["latency"]["response"].clone()
    };
    assert_eq!(response("1767268799.75").await, 250.0);
    assert_eq!(response("1767268800").await, 0.0);
    assert_eq!(response("1767268801.5").await, -1500.0, "clock differences are reported unchanged");
    assert_eq!(response("now").await, Value::Null);
}

#[actix_web::test]
async fn public_data_survives_store_failures() {
    let service = reporting().await;
    service.put(Record::Feedback(a_feedback("one", 5))).await;
    for path in ["/", "/feedback", "/team"] {
        service.store.set(None);
        let shown = async || {
            let mut data = service.get(path).now_or_never().unwrap().data();
            let _ = data.pointer_mut("/health/api").map(Value::take);
            data
        };
        let before = shown().await;
        for fault in [Fault::Fails(StoreErrorKind::Unavailable), Fault::Hangs, Fault::Panics] {
            service.store.set(Some(fault));
            assert_eq!(shown().await, before, "{path}, {fault:?}");
        }
    }
}

async fn with_team(members: &[(u64, &str, i32)]) -> Service {
    let service = Service::new().await;
    put_team(&service, members).await;
    service
}

async fn put_team(service: &Service, members: &[(u64, &str, i32)]) {
    let members = members.iter().map(|(user, category, position)| a_team_member(*user, category, *position));
    service.write(Mutation::ReplaceTeam(Roster::new(members.collect()).unwrap())).await;
}

#[actix_web::test]
async fn team_members_are_sorted_with_the_contract_fields() {
    let service = with_team(&[(1, "Support", 2), (2, "Development", 7)]).await;
    let member = |id: u64, category: &str, position: i32| {
        json!({
            "username": format!("user{id}"), "name": format!("User {id}"), "role": "Developer", "color": "#1ABC9C",
            "avatar": format!("https://cdn.example/avatars/{id}.png"), "discord_id": id.to_string(),
            "category": category, "position": position,
        })
    };
    let expected = json!([member(2, "Development", 7), member(1, "Support", 2)]);
    assert_eq!(service.get("/team").await.data(), expected);
}

#[actix_web::test]
async fn responds_304_until_the_team_changes() {
    let service = with_team(&[(1, "Support", 1)]).await;
    let first = service.get("/team").await;
    let tag = first.header("etag").to_owned();
    assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() == 45, "{tag}");
    assert_eq!(first.header("cache-control"), "max-age=60");
    let again = async |method| {
        let request = TestRequest::default().method(method).uri("/team");
        service.call(request.insert_header(("If-None-Match", &*tag))).await
    };
    for method in [Method::GET, Method::HEAD] {
        let again = again(method).await;
        assert_eq!((again.status, again.body.len()), (304, 0));
        assert_eq!((again.header("etag"), again.header("cache-control")), (&*tag, "max-age=60"));
        assert!(!again.header("x-request-id").is_empty());
        assert_eq!(again.header("vary"), "Origin");
    }
    put_team(&service, &[(1, "Support", 2)]).await;
    let newer = again(Method::GET).await;
    assert_eq!(newer.status, 200);
    assert_ne!(newer.header("etag"), tag);
    put_team(&service, &[(1, "Support", 1)]).await;
    assert_eq!(again(Method::GET).await.status, 304, "equal bytes have equal tags");
}

#[actix_web::test]
async fn guilds_have_all_permissions_in_order() {
    let service = Service::new().await;
    service.put(Record::Guild(a_guild(7))).await;
    let token = service.signed_in(vec![an_ownership(7)]).await;
    let answer = service.guilds(&token).await;
    let permissions = answer.data()[0]["permissions"].take();
    assert_eq!(permissions.as_object().map(serde_json::Map::len), Some(20));
    assert_eq!(permissions["MANAGE_SERVER"], true);
    assert_eq!(permissions["FOUNDER"], false);
    let text = String::from_utf8(answer.body).unwrap();
    let places: Vec<_> =
        Permission::ALL.iter().map(|key| text.find(&format!("\"{key}\":")).unwrap()).collect();
    assert!(places.is_sorted(), "{text}");
}

#[actix_web::test]
async fn guilds_without_icon_or_plus_get_defaults() {
    let service = Service::new().await;
    let id = 5 << 22;
    service.put(Record::Guild(Guild { icon: None, ..a_guild(id) })).await;
    let token = service.signed_in(vec![an_ownership(id)]).await;
    let data = service.guilds(&token).await.data();
    assert_eq!(data[0]["icon"], "https://cdn.example/embed/avatars/5.png");
    assert_eq!(data[0]["plus"], json!({"plus": {"userid": "", "guilds": [], "slots": 0}, "active": false}));
}

#[actix_web::test]
async fn the_guild_list_has_an_age_and_is_never_cached() {
    let service = Service::new().await;
    let token = service.signed_in(vec![a_membership(7)]).await;
    service.memory.clock.advance(Duration::from_millis(42_900));
    let answer = service.guilds(&token).await;
    assert_eq!(answer.data(), json!([]));
    assert_eq!(answer.header("age"), "42");
    assert_eq!(answer.header("cache-control"), "private, no-store");
}

#[actix_web::test]
async fn a_stale_list_without_refresh_has_retry_after() {
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

//! `GET /`.

use crate::{faulty::Fault, service::Service};
use actix_web::test::TestRequest;
use companion_domain::{
    model::{Heartbeat, Megabytes, Number, Shard, ShardId, Shards},
    port::{Clock as _, Mutation, StoreErrorKind},
};
use companion_testkit::world::a_heartbeat;
use serde_json::{Value, json};
use std::time::Duration;

async fn reporting() -> Service {
    let service = Service::new().await;
    let heartbeat = a_heartbeat("one", service.memory.clock.now());
    service.use_cases.feed.records.write(Mutation::Report(heartbeat.clone())).await.unwrap();
    service
}

#[actix_web::test]
async fn the_status_has_exactly_the_fields_of_the_contract() {
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
async fn without_a_live_cluster_the_memory_is_a_plain_zero() {
    let service = Service::new().await;
    let body = String::from_utf8(service.get("/").await.body).unwrap();
    assert!(body.contains(r#""resources":{"memory":0.0}"#), "{body}");
}

#[actix_web::test]
async fn a_bot_that_falls_silent_disappears_with_time_alone() {
    let service = reporting().await;
    service.memory.clock.advance(Duration::from_secs(89));
    assert_eq!(service.get("/").await.data()["resources"]["memory"], 128.5);
    service.memory.clock.advance(Duration::from_secs(1));
    let data = service.get("/").await.data();
    assert_eq!(data["resources"]["memory"], 0.0);
    assert_eq!(
        data["health"]["bot"],
        json!({"shards": {}, "uptime": {"readable": "not reporting", "epoch": 0}})
    );
}

#[actix_web::test]
async fn the_uptime_grows_with_time_alone_and_follows_a_clock_that_is_set() {
    let service = Service::new().await;
    let clock = &service.memory.clock;
    let started_at = clock.now();
    let heartbeat = Heartbeat { started_at, ..a_heartbeat("one", started_at) };
    service.use_cases.feed.records.write(Mutation::Report(heartbeat.clone())).await.unwrap();
    let readable = async || service.get("/").await.data()["health"]["bot"]["uptime"]["readable"].clone();
    assert_eq!(readable().await, "0 seconds");
    clock.advance(Duration::from_millis(999));
    assert_eq!(readable().await, "0 seconds");
    clock.advance(Duration::from_millis(1));
    assert_eq!(readable().await, "1 second");
    clock.advance(Duration::from_secs(59));
    assert_eq!(readable().await, "1 minute");
    clock.set(started_at.after(Duration::from_secs(3_600)));
    assert_eq!(readable().await, "1 hour");
    clock.set(started_at.before(Duration::from_secs(3_600)));
    assert_eq!(readable().await, "0 seconds");
}

#[actix_web::test]
async fn whole_numbers_stay_whole_and_memory_has_two_decimals() {
    let service = Service::new().await;
    let number = Number::Integer(1_767_000_000_000);
    let shard =
        Shard { heartbeat_sent: number, heartbeat_acknowledged: number, latency: Number::Integer(-1) };
    let heartbeat = Heartbeat {
        memory: Megabytes::new(10.0 / 3.0).unwrap(),
        shards: Shards::new([(ShardId::new(4_294_967_295), shard)].into()).unwrap(),
        ..a_heartbeat("one", service.memory.clock.now())
    };
    service.use_cases.feed.records.write(Mutation::Report(heartbeat.clone())).await.unwrap();
    let text = String::from_utf8(service.get("/").await.body).unwrap();
    let shard = r#"{"4294967295":{"heartbeatSent":1767000000000,"heartbeatAcknowledged":1767000000000,"latency":-1}}"#;
    assert!(text.contains(shard), "{text}");
    assert!(text.contains(r#""memory":3.33}"#), "{text}");
}

#[actix_web::test]
async fn the_way_here_is_measured_when_the_caller_says_when_it_left() {
    let service = Service::new().await;
    let response = async |sent: &str| {
        let answer = service.call(TestRequest::get().uri("/").insert_header(("Sent-Epoch", sent))).await;
        answer.data()["health"]["api"]["latency"]["response"].clone()
    };
    assert_eq!(response("1767268799.75").await, 250.0);
    assert_eq!(response("1767268800").await, 0.0);
    assert_eq!(response("1767268801.5").await, -1500.0, "clocks that disagree are reported as they are");
    for nonsense in ["", "now", "NaN", "-1", "1e9", "1767268799,75"] {
        assert_eq!(response(nonsense).await, Value::Null, "{nonsense}");
    }
    let bytes = TestRequest::get().uri("/").insert_header(("Sent-Epoch", &b"\xff"[..]));
    assert_eq!(service.call(bytes).await.data()["health"]["api"]["latency"]["response"], Value::Null);
}

#[actix_web::test]
async fn the_status_stays_on_show_while_the_store_is_down() {
    let service = reporting().await;
    service.store.set(Some(Fault::Fails(StoreErrorKind::Unavailable)));
    assert_eq!(service.get("/").await.data()["resources"]["memory"], 128.5);
}

#[actix_web::test]
async fn a_status_that_was_never_loaded_is_not_an_empty_status() {
    let service = Service::unloaded().await;
    service.get("/").await.assert_error(503, "storage_unavailable");
}

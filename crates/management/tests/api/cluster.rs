//! Heartbeats.

use super::{put, sample::heartbeat};
use crate::service::Service;
use serde_json::json;
use std::time::Duration;

#[actix_web::test]
async fn reports_of_several_clusters_are_put_together() {
    let service = Service::new().await;
    let report = async |cluster: &str, body| {
        service.manage(put(&format!("/bot/clusters/{cluster}/heartbeat"), &body)).await.counts()
    };
    assert_eq!(report("one", heartbeat("0", 1_767_000_000.75, 100.25)).await, [1, 0, 0]);
    assert_eq!(report("two", heartbeat("4294967295", 1_766_000_000.0, 50.5)).await, [1, 0, 0]);
    let data = service.get("/").await.data();
    assert_eq!(data["resources"]["memory"], 150.75);
    let shard = json!({"heartbeatSent": 1, "heartbeatAcknowledged": 1.5, "latency": -3});
    assert_eq!(data["health"]["bot"]["shards"], json!({"0": shard, "4294967295": shard}));
    assert_eq!(data["health"]["bot"]["uptime"]["epoch"], 1_766_000_000);
    service.memory.clock.advance(Duration::from_secs(1));
    assert_eq!(report("two", heartbeat("1", 1_767_000_001.0, 1.0)).await, [0, 1, 0]);
    let data = service.get("/").await.data();
    assert_eq!(data["health"]["bot"]["shards"], json!({"0": shard, "1": shard}));
    assert_eq!(data["health"]["bot"]["uptime"]["epoch"], 1_767_000_000, "a fraction is dropped");
}

#[actix_web::test]
async fn a_cluster_that_falls_silent_disappears_by_our_clock_alone() {
    let service = Service::new().await;
    let report = async |cluster: &str| {
        // The bot's clock runs years ahead.
        let body = heartbeat("0", 4_000_000_000.0, 1.0);
        service.manage(put(&format!("/bot/clusters/{cluster}/heartbeat"), &body)).await
    };
    let memory = async || service.get("/").await.data()["resources"]["memory"].clone();
    report("one").await;
    service.memory.clock.advance(Duration::from_secs(60));
    report("two").await;
    assert_eq!(memory().await, 2.0);
    service.memory.clock.advance(Duration::from_secs(30));
    assert_eq!(memory().await, 1.0);
    report("one").await;
    assert_eq!(memory().await, 2.0);
    service.memory.clock.advance(Duration::from_secs(90));
    let data = service.get("/").await.data();
    assert_eq!(
        data["health"]["bot"],
        json!({"shards": {}, "uptime": {"readable": "not reporting", "epoch": 0}})
    );
}

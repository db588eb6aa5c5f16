//! Alerts to a webhook.

use crate::{http, program::Program};
use serde_json::{Value, json};
use std::{
    sync::mpsc::{Receiver, channel},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

const KEY: &str = "a-management-key-of-a-test";
/// Part of the address, which is a secret.
const CANARY: &str = "canary-of-a-webhook";
const PATIENCE: Duration = Duration::from_secs(20);

/// A webhook that refuses the first requests, and returns what it accepts.
fn webhook(mut refused: u32) -> (String, Receiver<Value>) {
    let (tell, told) = channel();
    let address = http::serve(move |_, body| {
        let status = if refused > 0 { "500 No" } else { "204 Yes" };
        if refused > 0 {
            refused -= 1;
        } else {
            let _ = tell.send(serde_json::from_slice(body).unwrap());
        }
        format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").into()
    });
    (format!("http://{address}/hooks/{CANARY}"), told)
}

#[expect(clippy::disallowed_methods, reason = "a real bot has a real clock")]
fn report(management: &str, shards: &[u32]) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let shard = json!({"heartbeatSent": now, "heartbeatAcknowledged": now, "latency": 40});
    let shards: serde_json::Map<_, _> = shards.iter().map(|id| (id.to_string(), shard.clone())).collect();
    let body = json!({"memory": 1, "started_at": now, "shards": shards, "shard_count": 2});
    let bearer = format!("Bearer {KEY}");
    let headers = [("Authorization", bearer.as_str())];
    let path = "/bot/clusters/one/heartbeat";
    assert_eq!(http::send(management, "PUT", path, &headers, &body.to_string()).unwrap().status, 200);
}

#[test]
fn a_webhook_is_told_of_each_incident_once() {
    let (address, told) = webhook(1);
    let mut service = Program::serving(&["serve"])
        .env("COMPANION_MANAGEMENT__KEY", KEY)
        .env("COMPANION_BOT__SILENT_AFTER", "500ms")
        .env("COMPANION_BOT__ALERT_URL", &address)
        .env("COMPANION_DASHBOARD__NAME", "Night Watch")
        .start();
    let management = service.management();
    let report = |shards: &[u32]| report(&management, shards);
    report(&[0, 1]);
    let alert = told.recv_timeout(PATIENCE).unwrap();
    assert_eq!(alert["content"], "Night Watch: The bot is silent.");
    assert_eq!((&alert["text"], &alert["allowed_mentions"]), (&alert["content"], &json!({"parse": []})));
    // Reports until the webhook is told of a change.
    let next_after = |shards: &[u32]| loop {
        report(shards);
        if let Ok(alert) = told.recv_timeout(Duration::from_millis(100)) {
            break alert["text"].as_str().unwrap().to_owned();
        }
    };
    let well = next_after(&[0, 1]);
    assert!(well.starts_with("Night Watch: well again after "), "{well}");
    assert!(well.ends_with("The bot is silent."), "{well}");
    assert_eq!(next_after(&[1]), "Night Watch: Shard 0 is missing.");
    let log = service.stop().err;
    assert!(log.contains("cannot send an alert, trying again: the webhook answered 500"), "{log}");
    assert!(!log.contains(CANARY), "{log}");
}

//! Asserts that a process holds no more memory and files after very many requests than before.
//!
//! The default run is short. `LONG` sets the number of requests.

use crate::{
    http::Kept,
    program::Holdings,
    stage::{Stage, guild, guild_of},
};
use serde_json::json;
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::Instant,
};

const DEFAULT_REQUESTS: u64 = 5_000;
const VARIABLE: &str = "LONG";
const CONNECTIONS: u64 = 4;
/// Pipelined requests per connection.
const PIPELINE_DEPTH: u64 = 16;
/// Requests per connection before it is replaced.
const REQUESTS_PER_CONNECTION: u64 = 100_000;
/// Number of memory samples. The first step is the warm-up.
const STEPS: u64 = 10;

/// Returns sixteen requests with their statuses: all five endpoints, and rejected requests.
fn requests(token: &str) -> [(String, u16); 16] {
    let with = |line: &str, headers: &str| format!("{line} HTTP/1.1\r\nHost: x\r\n{headers}\r\n");
    let token = format!("Token: {token}\r\n");
    let none = "Content-Length: 0\r\n";
    [
        (with("GET /", "Sent-Epoch: 1700000000.25\r\n"), 200),
        (with("GET /guilds", &token), 200),
        (with("GET /team", ""), 200),
        (with("GET /feedback", ""), 200),
        (with("GET /guilds", &token), 200),
        (with("GET /guilds", "Token: cmp_AAAA\r\n"), 401),
        (with("GET /guilds", ""), 401),
        (with("POST /auth", none), 401),
        (with("GET /nothing", "X-Request-Id: long.1\r\n"), 404),
        (with("PUT /team", none), 405),
        (with("OPTIONS /auth", ""), 204),
        (with("GET /guilds", &token), 200),
        (with("GET /feedback", ""), 200),
        (with("POST /auth", "Origin: https://elsewhere.example\r\nContent-Length: 0\r\n"), 403),
        (with("POST /team", "Content-Length: 5\r\n") + "hello", 405),
        (with("GET /team", "Accept-Encoding: gzip\r\n"), 200),
    ]
}

/// Sends the batch repeatedly until `left` is used up, and asserts every status.
fn ask(address: &str, batch: &[u8], expected: &[u16], left: &AtomicU64) {
    let (mut connection, mut asked) = (Kept::to(address).unwrap(), 0);
    while left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(PIPELINE_DEPTH)).is_ok() {
        if asked >= REQUESTS_PER_CONNECTION {
            (connection, asked) = (Kept::to(address).unwrap(), 0);
        }
        connection.send(batch).unwrap();
        asked += PIPELINE_DEPTH;
        for (place, status) in expected.iter().enumerate() {
            assert_eq!(connection.answer().unwrap().status, *status, "request {place} of the batch");
        }
    }
}

#[test]
fn long_after_the_first_requests_memory_and_files_are_stable() {
    let requests_in_all = std::env::var(VARIABLE).map_or(DEFAULT_REQUESTS, |text| text.parse().unwrap());
    let stage = Stage::new();
    let node = stage.serve("sqlite:companion.db");
    node.manage("PUT", &format!("/bot/guilds/{}", guild_of(1)), &guild(1).to_string());
    let person = json!({"username": "u", "name": "U", "id": "8", "avatar": "https://cdn.example/a.png"});
    for number in 0..20 {
        let entry =
            json!({"feedback": "Splendid", "rating": 5, "timestamp": 1_700_000_000, "submitter": person});
        node.manage("PUT", &format!("/bot/feedback/f-{number}"), &entry.to_string());
    }
    let token = node.sign_in(&stage, 1);
    let requests = requests(&token);
    let batch: String = requests.iter().map(|(request, _)| request.as_str()).collect();
    let expected = requests.map(|(_, status)| status);
    let begun = Instant::now();
    let mut held = Vec::new();
    for _ in 0..STEPS {
        let left = AtomicU64::new(requests_in_all / STEPS);
        thread::scope(|scope| {
            for _ in 0..CONNECTIONS {
                scope.spawn(|| ask(node.public(), batch.as_bytes(), &expected, &left));
            }
        });
        held.push(Holdings::of(&node.running));
    }
    let (first, last) = (held[0], held[held.len() - 1]);
    println!(
        "long: {requests_in_all} requests in one process in {:.0} s: memory {:?} MB, files {:?}",
        begun.elapsed().as_secs_f64(),
        held.iter().map(|held| held.megabytes()).collect::<Vec<_>>(),
        held.iter().map(|held| held.files).collect::<Vec<_>>()
    );
    // A short run is still warming up after its first step.
    let slack = if requests_in_all >= 1_000_000 { 0 } else { 16 << 20 };
    assert!(last.memory < first.memory + first.memory / 20 + slack, "{first:?}, then {last:?}");
    // Connections of the last step may still be open.
    assert!(last.files <= first.files + 4, "{first:?}, then {last:?}");
    node.stop();
}

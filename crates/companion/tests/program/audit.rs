//! The audit trail of what happens without a request.

use crate::program::Program;
use serde_json::{Value, json};
use std::sync::Arc;
use tempfile::TempDir;

const OVER: &str = r#"{"kind":"session","id":"00000000000000000000000000000000000000000000000000000000000000aa","user":"7","created_at":1,"last_seen_at":1}"#;

#[test]
fn a_session_that_is_removed_in_the_background_leaves_a_line_of_the_service() {
    let folder = Arc::new(TempDir::new().unwrap());
    std::fs::write(folder.path().join("over.ndjson"), OVER).unwrap();
    assert_eq!(Program::within(&folder, &["import", "over.ndjson"]).finish().code, Some(0));
    let mut service = Program::within(&folder, &["serve"])
        .env("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
        .env("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0")
        .env("COMPANION_LOG__FORMAT", "json")
        .start();
    service.management();
    while Program::within(&folder, &["export"]).finish().out.contains("session") {}
    service.signal("INT");
    let log = service.finish().err;
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut told: Vec<_> = lines.filter(|line| line["target"] == "companion::audit").collect();
    for line in &mut told {
        line.as_object_mut().unwrap().remove("timestamp");
    }
    let expected = json!({
        "level": "INFO", "message": "audit", "action": "expire_session", "outcome": "success", "by": "service",
        "user": "7", "session": "00000000", "added": 0, "changed": 0, "removed": 1, "target": "companion::audit",
    });
    assert_eq!(told, [expected]);
}

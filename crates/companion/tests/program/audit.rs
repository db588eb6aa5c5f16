//! The audit trail of what happens without a request.

use crate::program::Program;
use serde_json::{Value, json};
use std::sync::Arc;
use tempfile::TempDir;

const OVER: &str = r#"{"kind":"session","id":"00000000000000000000000000000000000000000000000000000000000000aa","user":"7","created_at":1,"last_seen_at":1}"#;

/// The lines of the trail in a log, without their times.
fn trail(log: &str) -> Vec<Value> {
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut told: Vec<_> = lines.filter(|line| line["target"] == "companion::audit").collect();
    for line in &mut told {
        line.as_object_mut().unwrap().remove("timestamp");
    }
    told
}

fn import(folder: &Arc<TempDir>) -> String {
    std::fs::write(folder.path().join("over.ndjson"), OVER).unwrap();
    let import = Program::within(folder, &["import", "over.ndjson"]).env("COMPANION_LOG__FORMAT", "json");
    let imported = import.finish();
    assert_eq!(imported.code, Some(0), "{}", imported.err);
    imported.err
}

#[test]
fn an_import_leaves_a_line_of_the_command_line() {
    let folder = Arc::new(TempDir::new().unwrap());
    let expected = json!({
        "level": "INFO", "message": "audit", "action": "import", "outcome": "success", "by": "command_line",
        "added": 1, "changed": 0, "removed": 0, "target": "companion::audit",
    });
    assert_eq!(trail(&import(&folder)), [expected]);
}

#[test]
fn a_session_that_is_removed_in_the_background_leaves_a_line_of_the_service() {
    let folder = Arc::new(TempDir::new().unwrap());
    import(&folder);
    let mut service = Program::within(&folder, &["serve"])
        .env("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
        .env("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0")
        .env("COMPANION_LOG__FORMAT", "json")
        .start();
    service.management();
    while Program::within(&folder, &["export"]).finish().out.contains("session") {}
    service.signal("INT");
    let log = service.finish().err;
    let expected = json!({
        "level": "INFO", "message": "audit", "action": "expire_session", "outcome": "success", "by": "service",
        "user": "7", "session": "00000000", "added": 0, "changed": 0, "removed": 1, "target": "companion::audit",
    });
    assert_eq!(trail(&log), [expected]);
}

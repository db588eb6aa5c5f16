//! `companion sessions`.

use crate::{
    http,
    installation::{Installation, USER},
    program::{Finished, Program},
    unreadable::run_statements,
};
use serde_json::Value;
use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// Two sessions of user 7, one of user 8, and one that has been over for years.
const SESSIONS: &str = r#"{"kind":"session","id":"00000000000000000000000000000000000000000000000000000000000000a1","user":"7","created_at":4000000000000000,"last_seen_at":4000000000000001,"user_agent":"Firefox"}
{"kind":"session","id":"00000000000000000000000000000000000000000000000000000000000000a2","user":"7","created_at":4000000000000002,"last_seen_at":4000000000000003}
{"kind":"session","id":"00000000000000000000000000000000000000000000000000000000000000b1","user":"8","created_at":4000000000000004,"last_seen_at":4000000000000005}
{"kind":"session","id":"00000000000000000000000000000000000000000000000000000000000000c1","user":"9","created_at":1700000000000000,"last_seen_at":1700000000000000}
"#;

fn folder() -> Arc<TempDir> {
    let folder = Arc::new(TempDir::new().unwrap());
    fs::write(folder.path().join("sessions.ndjson"), SESSIONS).unwrap();
    assert_eq!(run(&folder, &["import", "sessions.ndjson"]).code, Some(0));
    folder
}

fn run(folder: &Arc<TempDir>, arguments: &[&str]) -> Finished {
    Program::within(folder, arguments).finish()
}

fn listed(folder: &Arc<TempDir>, more: &[&str]) -> Vec<String> {
    let listed = run(folder, &[&["sessions", "list", "--json"], more].concat());
    assert_eq!(listed.code, Some(0), "{}", listed.err);
    let sessions: Value = serde_json::from_str(&listed.out).unwrap();
    let id = |session: &Value| session["id"].as_str().unwrap().trim_start_matches('0').to_owned();
    sessions.as_array().unwrap().iter().map(id).collect()
}

/// The lines of the audit trail, without the time.
fn audited(finished: &Finished) -> Vec<Value> {
    let line = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line.as_object_mut().unwrap().remove("timestamp").unwrap();
        line
    };
    finished.err.lines().map(line).filter(|line| line["target"] == "companion::audit").collect()
}

#[test]
fn live_sessions_are_listed_the_oldest_first_and_never_with_a_token() {
    let folder = folder();
    assert_eq!(listed(&folder, &[]), ["a1", "a2", "b1"]);
    assert_eq!(listed(&folder, &["--user", "7"]), ["a1", "a2"]);
    assert_eq!(listed(&folder, &["--user", "9"]), Vec::<String>::new());
    let table = run(&folder, &["sessions", "list", "--user", "8"]);
    let lines: Vec<Vec<&str>> = table.out.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines[0], ["ID", "USER", "CREATED", "SEEN", "ENDS", "DEVICE"]);
    assert_eq!(lines[1][..3], [&*format!("{:0>64}", "b1"), "8", "2096-10-02 07:06:40"]);
    assert_eq!(lines.len(), 2);
}

#[test]
fn one_session_ends_by_its_id_and_leaves_a_line_in_the_audit_trail() {
    let folder = folder();
    let id = format!("{:0>64}", "a1");
    let ended = run(&folder, &["sessions", "revoke", &id]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "1 session ended\n"), "{}", ended.err);
    let expected = serde_json::json!({
        "level": "INFO", "message": "audit", "target": "companion::audit", "action": "revoke_session",
        "outcome": "success", "user": "7", "session": "00000000", "added": 0, "changed": 0, "removed": 1,
        "by": "command_line",
    });
    assert_eq!(audited(&ended), [expected]);
    assert_eq!(listed(&folder, &[]), ["a2", "b1"]);
    let again = run(&folder, &["sessions", "revoke", &id]);
    assert_eq!(again.code, Some(1));
    assert!(again.err.contains("there is no such session; `companion sessions list`"), "{}", again.err);
    assert_eq!(run(&folder, &["sessions", "revoke", "a1"]).code, Some(2));
}

#[test]
fn nobody_is_signed_out_without_a_terminal_or_a_yes() {
    let folder = folder();
    for more in [&[][..], &["--user", "7"]] {
        let refused = run(&folder, &[&["sessions", "revoke-all"], more].concat());
        assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""));
        assert!(
            refused.err.contains("there is no terminal to ask on\n    fix: add --yes"),
            "{}",
            refused.err
        );
    }
    assert_eq!(listed(&folder, &[]).len(), 3);
}

#[test]
fn all_sessions_of_a_user_or_of_everyone_end_with_a_line_for_each_user() {
    let folder = folder();
    let ended = run(&folder, &["sessions", "revoke-all", "--user", "7", "--yes"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "2 sessions ended\n"), "{}", ended.err);
    let lines = audited(&ended);
    assert_eq!(
        (lines.len(), &lines[0]["action"], &lines[0]["removed"]),
        (1, &"revoke_user".into(), &2.into())
    );
    assert_eq!(listed(&folder, &[]), ["b1"]);
    // The one that is over goes too.
    let ended = run(&folder, &["sessions", "revoke-all", "--yes"]);
    assert_eq!(ended.out, "2 sessions ended\n");
    let users: Vec<_> = audited(&ended).iter().map(|line| line["user"].clone()).collect();
    assert_eq!(users, ["8", "9"]);
    assert_eq!(run(&folder, &["export"]).out, "");
}

#[test]
fn revoking_everyone_reaches_the_sessions_behind_unreadable_rows() {
    let folder = Arc::new(TempDir::new().unwrap());
    let live = |number: u32| {
        format!(
            "{{\"kind\":\"session\",\"id\":\"f{number:063x}\",\"user\":\"{}\",\"created_at\":4000000000000000,\
             \"last_seen_at\":4000000000000000}}\n",
            number + 1
        )
    };
    fs::write(folder.path().join("sessions.ndjson"), (0..700).map(live).collect::<String>()).unwrap();
    assert_eq!(run(&folder, &["import", "sessions.ndjson"]).code, Some(0));
    // Older, and with lower ids: every order there is has them first.
    run_statements(
        &folder,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
         INSERT INTO sessions (id, user_id, created_at, last_seen_at)
         SELECT CAST(printf('%032d', i) AS BLOB), 0, i, i FROM n",
    );
    assert_eq!(listed(&folder, &[]).len(), 700);
    let ended = run(&folder, &["sessions", "revoke-all", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(ended.out, "700 sessions ended\n600 unreadable rows removed as well\n");
    assert_eq!(listed(&folder, &[]), Vec::<String>::new());
    assert_eq!(run(&folder, &["sessions", "revoke-all", "--yes"]).out, "0 sessions ended\n");
}

#[test]
fn what_is_over_is_pruned_and_what_lives_stays() {
    let folder = folder();
    let pruned = run(&folder, &["sessions", "prune"]);
    assert_eq!((pruned.code, pruned.out.as_str()), (Some(0), "1 session removed\n"), "{}", pruned.err);
    let lines = audited(&pruned);
    assert_eq!(
        (lines.len(), &lines[0]["action"], &lines[0]["user"]),
        (1, &"expire_session".into(), &"9".into())
    );
    assert_eq!(run(&folder, &["sessions", "prune"]).out, "0 sessions removed\n");
    assert_eq!(listed(&folder, &[]), ["a1", "a2", "b1"]);
}

#[test]
fn a_running_service_refuses_within_a_second_what_was_revoked() {
    let installation = Installation::new();
    let service = installation.serve();
    installation.feed(
        "/bot/guilds/500",
        r#"{"name": "Owls", "icon": null, "members": 1, "owner": "7",
        "setup": true, "linked": false, "roles": {}}"#,
    );
    let token = installation.sign_in();
    let guilds = || http::get(installation.public(), "/guilds", &[("Token", &token)]).status;
    assert_eq!(guilds(), 200);
    let revoked =
        installation.program(&["sessions", "revoke-all", "--yes", "--user", &USER.to_string()]).finish();
    let since = Instant::now();
    assert_eq!(revoked.out, "1 session ended\n", "{}", revoked.err);
    assert!(!revoked.err.contains(&token) && !revoked.out.contains(&token));
    while guilds() != 401 {
        assert!(since.elapsed() < Duration::from_secs(1), "the service does not know of it");
    }
    service.signal("INT");
    assert_eq!(service.finish().code, Some(0));
}

//! The commands about users: `companion sessions` and `companion why`.

use crate::{
    program::{Finished, Program},
    stored::run_statements,
};
use serde_json::Value;
use std::{fs, sync::Arc};
use tempfile::TempDir;

/// Two sessions of user 7, one of user 8, and one that expired years ago.
const SESSIONS: &str = r#"{"kind":"session","id":"00000000000000000000000000000000000000000000000000000000000000a1","user":"7","created_at":4000000000000000,"last_seen_at":4000000000000001,"user_agent":"Firefox"}
{"kind":"session","id":"00000000000000000000000000000000000000000000000000000000000000a2","user":"7","created_at":4000000000000002,"last_seen_at":4000000000000003}
{"kind":"session","id":"00000000000000000000000000000000000000000000000000000000000000b1","user":"8","created_at":4000000000000004,"last_seen_at":4000000000000005}
{"kind":"session","id":"00000000000000000000000000000000000000000000000000000000000000c1","user":"9","created_at":1700000000000000,"last_seen_at":1700000000000000}
"#;

/// Guild 500 has the bot, 600 does not. All users but 6 have signed in, and each is a separate case.
const WHY_WORLD: &str = r#"{"kind":"guild","id":"500","name":"Night \u001b[31mOwls","icon":null,"members":3,"owner":"1","setup":true,"linked":true,"roles":{"MOD":["50","51"]}}
{"kind":"member","guild":"500","user":"2","roles":["49","51"]}
{"kind":"outline","guild":"500","channels":[],"roles":[{"id":"50","name":"Night \u001bwatch","color":null}]}
{"kind":"plus","user":"9","guilds":["500"],"slots":2}
{"kind":"plus","user":"3","guilds":[],"slots":1}
{"kind":"staff","user":"3","permissions":["BOT_DEVELOPER","SUPPORT"]}
{"kind":"blocked","user":"5"}
{"kind":"grant","user":"1","version":1,"tokens":"c2VhbGVk","list":{"fetched_at":1700000000000000,"guilds":[{"id":"500","owner":true,"permissions":"8"},{"id":"600","owner":true,"permissions":"0"}]}}
{"kind":"grant","user":"2","version":1,"tokens":null,"list":{"fetched_at":1700000000000000,"guilds":[{"id":"500","owner":false,"permissions":"0"}]}}
{"kind":"grant","user":"3","version":1,"tokens":"c2VhbGVk","list":{"fetched_at":4000000000000000,"guilds":[{"id":"500","owner":false,"permissions":"64"}]}}
{"kind":"grant","user":"4","version":1,"tokens":"c2VhbGVk","list":{"fetched_at":4000000000000000,"guilds":[]}}
{"kind":"grant","user":"5","version":1,"tokens":"c2VhbGVk","list":{"fetched_at":4000000000000000,"guilds":[{"id":"500","owner":false,"permissions":"40"}]}}
{"kind":"grant","user":"7","version":1,"tokens":"c2VhbGVk","list":null}
"#;

/// Creates a folder with a database that contains these records.
fn folder_with(records: &str) -> Arc<TempDir> {
    let folder = Arc::new(TempDir::new().unwrap());
    fs::write(folder.path().join("records.ndjson"), records).unwrap();
    let imported = Program::run(&folder, &["import", "records.ndjson"]);
    assert_eq!(imported.code, Some(0), "{}", imported.err);
    folder
}

fn sessions(folder: &Arc<TempDir>, arguments: &[&str]) -> Finished {
    Program::run(folder, &[&["sessions"], arguments].concat())
}

fn listed(folder: &Arc<TempDir>, more: &[&str]) -> Vec<String> {
    let listed = sessions(folder, &[&["list", "--json"], more].concat());
    assert_eq!(listed.code, Some(0), "{}", listed.err);
    let sessions: Value = serde_json::from_str(&listed.out).unwrap();
    let id = |session: &Value| session["id"].as_str().unwrap().trim_start_matches('0').to_owned();
    sessions.as_array().unwrap().iter().map(id).collect()
}

/// Returns the lines of the audit log, without the time.
pub(crate) fn audited(finished: &Finished) -> Vec<Value> {
    let line = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line.as_object_mut().unwrap().remove("timestamp").unwrap();
        line
    };
    finished.err.lines().map(line).filter(|line| line["target"] == "companion::audit").collect()
}

#[test]
fn lists_ends_and_prunes_sessions_with_audit_lines() {
    let folder = folder_with(SESSIONS);
    assert_eq!(listed(&folder, &[]), ["a1", "a2", "b1"], "the live ones, the oldest first");
    assert_eq!(listed(&folder, &["--user", "7"]), ["a1", "a2"]);
    let table = sessions(&folder, &["list", "--user", "8"]);
    let lines: Vec<Vec<&str>> = table.out.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines[0], ["ID", "USER", "CREATED", "SEEN", "ENDS", "DEVICE"]);
    assert_eq!(lines[1][..3], [&*format!("{:0>64}", "b1"), "8", "2096-10-02 07:06:40"]);
    assert_eq!(lines.len(), 2);

    // Without a terminal or --yes, no session ends.
    for more in [&[][..], &["--user", "7"]] {
        let refused = sessions(&folder, &[&["revoke-all"], more].concat());
        assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""));
        let told = "there is no terminal for the confirmation\n    fix: add --yes";
        assert!(refused.err.contains(told), "{}", refused.err);
    }
    let id = format!("{:0>64}", "a1");
    let ended = sessions(&folder, &["revoke", &id]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "1 session ended\n"), "{}", ended.err);
    let expected = serde_json::json!({
        "level": "INFO", "message": "audit", "target": "companion::audit", "action": "revoke_session",
        "outcome": "success", "user": "7", "session": "00000000", "added": 0, "changed": 0, "removed": 1,
        "by": "command_line",
    });
    assert_eq!(audited(&ended), [expected]);
    assert_eq!(listed(&folder, &[]), ["a2", "b1"]);
    let again = sessions(&folder, &["revoke", &id]);
    assert_eq!(again.code, Some(1));
    assert!(again.err.contains("unknown session; `companion sessions list`"), "{}", again.err);
    assert_eq!(sessions(&folder, &["revoke", "a1"]).code, Some(2));

    let told = |finished: &Finished| {
        let field = |name: &str, line: &Value| line[name].to_string().trim_matches('"').to_owned();
        let lines = audited(finished).into_iter();
        lines
            .map(|line| ["action", "user", "removed"].map(|name| field(name, &line)).join(" "))
            .collect::<Vec<_>>()
    };
    let pruned = sessions(&folder, &["prune"]);
    assert_eq!(
        (pruned.out.as_str(), told(&pruned)),
        ("1 session removed\n", vec!["expire_session 9 1".to_owned()])
    );
    assert_eq!(sessions(&folder, &["prune"]).out, "0 sessions removed\n");
    let folder = folder_with(SESSIONS);
    let ended = sessions(&folder, &["revoke-all", "--user", "7", "--yes"]);
    assert_eq!(
        (ended.out.as_str(), told(&ended)),
        ("2 sessions ended\n", vec!["revoke_user 7 2".to_owned()])
    );
    // The expired session ends too, and rows that cannot be read.
    run_statements(
        &folder,
        "INSERT INTO sessions (id, user_id, created_at, last_seen_at) VALUES (CAST(printf('%032d', 1) AS BLOB), 0, 1, 1)",
    );
    let ended = sessions(&folder, &["revoke-all", "--yes"]);
    assert_eq!(
        (ended.out.as_str(), told(&ended)),
        (
            "2 sessions ended\n1 unreadable row removed as well\n",
            ["8", "9"].map(|user| format!("revoke_user {user} 1")).to_vec()
        )
    );
    assert_eq!(Program::run(&folder, &["export"]).out, "");
}

/// Returns the output of `why`, and asserts that it has a line for each of the twenty permissions.
fn why(folder: &Arc<TempDir>, user: &str, guild: &str) -> String {
    let finished = Program::run(folder, &["why", user, guild]);
    assert_eq!(finished.code, Some(0), "{}", finished.err);
    let (_, permissions) = finished.out.split_once("\nPermissions").unwrap();
    let verdicts = permissions.lines().skip(1).map(|line| line.split_whitespace().nth(1).unwrap());
    let verdicts = verdicts.filter(|verdict| ["yes", "no"].contains(verdict)).count();
    assert_eq!(verdicts, 20, "{}", finished.out);
    finished.out
}

#[test]
fn why_explains_each_permission_and_every_obstacle() {
    let folder = folder_with(WHY_WORLD);
    let said: [(&str, &str, &[&str]); 3] = [
        (
            "1",
            "500",
            &[
                // Control characters are escaped.
                r#"User 1 in guild 500 "Night \u{1b}[31mOwls""#,
                "Listed: yes, as Owner",
                "Platform says:   the user owns the guild, has Administrator",
                "Bot says:        set up, linked to a game server; the user has no roles",
                "Granted by name: nothing",
                "Premium:         yes, by the subscription of user 9 (1 guild, 2 slots)",
                "  MOD                  yes  through ADMIN, through MANAGE_SERVER: the user owns the guild",
                "  SETUP                yes  the bot is set up in the guild",
                "  SERVICE_PLUS_GUILD   yes  a subscription names the guild",
                "  FOUNDER              no   Needs the bot's team to grant it.",
            ],
        ),
        ("2", "500", &["  MOD                  yes  the user has role 51, bound to MOD in the guild"]),
        (
            "3",
            "600",
            &[
                "Platform says:   nothing about the user in the guild",
                "Granted by name: BOT_DEVELOPER, SUPPORT",
                "Permissions by known facts; hidden while the guild is not listed:",
                "  SUPPORT              yes  granted to the user by name",
            ],
        ),
    ];
    for (user, guild, lines) in said {
        let text = why(&folder, user, guild);
        for line in lines {
            assert!(text.lines().any(|said| said == *line), "{line:?} is not in:\n{text}");
        }
    }
    let plain = why(&folder, "3", "500");
    let needed = "  MOD                  no   Needs the role @Night \u{fffd}watch or 51, or Manage Server.";
    assert!(plain.lines().any(|said| said == needed), "{plain}");
    let (member, not_signed_in, without_bot) = (
        "  - the platform's last list for the user does not have the guild",
        "  - the user is not signed in: they never were, or their last session has ended",
        "  - the bot does not report the guild",
    );
    for (user, guild, reasons, list) in [
        (
            "3",
            "500",
            &["  - the user is a plain member: none of the permissions below makes a role"][..],
            "1 guild, dated ahead, as before the clock was set back; the next request needs a newer one from the \
             platform",
        ),
        ("4", "600", &[member, without_bot], "the next request needs a newer one from the platform"),
        ("6", "500", &[not_signed_in], "none"),
        (
            "5",
            "500",
            &["  - the user is blocked: signing in and GET /guilds are answered with 403"],
            "the platform",
        ),
        (
            "7",
            "500",
            &["  - the platform has not given the user's list of guilds yet; each request asks again"],
            "none",
        ),
    ] {
        let text = why(&folder, user, guild);
        let told: Vec<_> = text.lines().filter(|line| line.starts_with("  - ")).collect();
        assert_eq!(told, reasons, "{text}");
        assert!(text.contains("\nListed: no\n"), "{text}");
        let line = text.lines().find(|line| line.starts_with("Last list:")).unwrap();
        assert!(line.ends_with(list), "{line}");
    }
    for (arguments, said) in
        [(&["night_owl", "500"], "user id must be"), (&["1", "0500"], "guild id must be")]
    {
        let refused = Program::run(&folder, &["why", arguments[0], arguments[1]]);
        assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""));
        assert!(refused.err.contains(said), "{}", refused.err);
    }
    let memory = Program::within(&folder, &["why", "1", "500"]).env("COMPANION_STORAGE__URL", "memory:");
    assert_eq!(memory.finish().code, Some(2));
}

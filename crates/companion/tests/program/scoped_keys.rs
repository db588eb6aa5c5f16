//! Keys for a part of the management API.

use crate::{http, metrics, program::Program, stage::until};
use rustix::fs::{CWD, Mode, mkfifoat};
use std::{path::Path, time::Duration};

const BOT: &str = "the-key-of-the-bot-1";
const NEXT: &str = "the-key-of-the-bot-2";
const THIRD: &str = "the-key-of-the-bot-3";
const MONITORING: &str = "the-monitoring-key-1";

fn program() -> Program {
    Program::serving(&["serve"])
        .env("COMPANION_STORAGE__URL", "sqlite:companion.db")
        .env("COMPANION_LOG__FORMAT", "json")
        .file("bot.key", &format!("{BOT}\n"))
        .file("next.key", &format!("{NEXT}\n"))
        .env(
            "COMPANION_MANAGEMENT__KEYS",
            &format!(
                r#"{{"bot": {{"key_file": "bot.key", "scopes": ["feed"]}},
                    "bot-next": {{"key_file": "next.key", "scopes": ["feed"]}},
                    "monitoring": {{"key": "{MONITORING}", "scopes": ["metrics"]}}}}"#
            ),
        )
}

fn status(management: &str, method: &str, path: &str, key: &str) -> u16 {
    http::send(management, method, path, &[("Authorization", &format!("Bearer {key}"))], "").unwrap().status
}

/// Waits until this key is accepted.
fn until_accepted(management: &str, key: &str) -> Duration {
    until(key, Duration::from_secs(20), || status(management, "PUT", "/bot/blocked/1", key) == 200)
}

#[test]
fn a_key_opens_its_part_and_is_exchanged_while_the_service_runs_without_a_gap() {
    let program = program();
    let folder = program.folder().to_owned();
    let write = |name: &str, key: &str| std::fs::write(folder.join(name), key).unwrap();
    let mut service = program.start();
    let management = service.management();
    for (method, path, key, expected) in [
        ("PUT", "/bot/blocked/1", BOT, 200),
        ("PUT", "/bot/blocked/1", NEXT, 200),
        ("GET", "/metrics", BOT, 403),
        ("GET", "/users/1", MONITORING, 403),
        ("GET", "/users/1", "some-other-key-here", 401),
        ("GET", "/health/ready", "some-other-key-here", 200),
    ] {
        assert_eq!(status(&management, method, path, key), expected, "{method} {path} with {key}");
    }
    let monitored = metrics::page(&management, MONITORING);
    assert!(monitored.contains("companion_build_info"), "{monitored}");
    assert!(!folder.join("companion.db.management-key").exists(), "no other key is made");

    // As a shell does it: there is nothing in the file for a moment.
    write("bot.key", "");
    write("bot.key", THIRD);
    println!("a new key counts after {:?}", until_accepted(&management, THIRD));
    assert_eq!(status(&management, "PUT", "/bot/blocked/1", NEXT), 200, "the other entry goes on");
    // It is wrong by now, or one guess too many: the new key was tried before the service knew it.
    let refused = status(&management, "PUT", "/bot/blocked/1", BOT);
    assert!(matches!(refused, 401 | 429), "{refused}");

    // Nothing that is no key takes the last one away, and neither does the key of another entry.
    for content in ["short", MONITORING] {
        write("bot.key", content);
        // When the other file has been read twice, this one has been, too.
        for next in ["the-key-of-the-bot-5", NEXT] {
            write("next.key", next);
            until_accepted(&management, next);
        }
        assert_eq!(status(&management, "PUT", "/bot/blocked/1", THIRD), 200);
    }
    service.signal("TERM");
    let log = service.finish().err;
    assert_eq!(log.matches("a management key was not exchanged").count(), 2, "{log}");
    for secret in [BOT, NEXT, THIRD, MONITORING] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[test]
fn a_fifo_in_place_of_a_key_file_is_refused_and_keys_are_exchanged_afterwards() {
    let program = program();
    let folder = program.folder().to_owned();
    let write = |name: &str, key: &str| std::fs::write(folder.join(name), key).unwrap();
    let fifo_in = |folder: &Path| {
        std::fs::remove_file(folder.join("bot.key")).unwrap();
        mkfifoat(CWD, folder.join("bot.key"), Mode::RUSR | Mode::WUSR).unwrap();
    };
    let mut service = program.start();
    let management = service.management();
    // A key that was used from here opens although others are tried.
    assert_eq!(status(&management, "PUT", "/bot/blocked/1", BOT), 200);
    fifo_in(&folder);
    for next in ["the-key-of-the-bot-5", NEXT] {
        write("next.key", next);
        until_accepted(&management, next);
    }
    assert_eq!(status(&management, "PUT", "/bot/blocked/1", BOT), 200, "the last key stays");
    std::fs::remove_file(folder.join("bot.key")).unwrap();
    write("bot.key", THIRD);
    until_accepted(&management, THIRD);
    service.signal("TERM");
    let log = service.finish().err;
    let refused = "key_file bot.key cannot be read: it is not a regular file";
    assert_eq!(log.matches(refused).count(), 1, "{log}");

    let at_the_start = self::program();
    fifo_in(at_the_start.folder());
    let finished = at_the_start.finish();
    assert_eq!(finished.code, Some(2), "{}", finished.err);
    assert!(finished.err.contains(refused), "{}", finished.err);
}

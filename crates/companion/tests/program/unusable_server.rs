//! A PostgreSQL server that cannot be used, or not for this. None is needed to find that out.

use crate::program::{Finished, Program};
use std::net::TcpListener;

const PASSWORD: &str = "hunter2";
const KEY: &str = "bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmU=";

/// Runs a command with everything configured, and looks for the password in all that it says.
fn run(arguments: &[&str], storage: &str) -> Finished {
    let finished = Program::serving(arguments)
        .file("world.ndjson", "")
        .env("COMPANION_STORAGE__URL", storage)
        .env("COMPANION_SECRETS__KEY", KEY)
        .env("COMPANION_MANAGEMENT__KEY", "the-management-key")
        .env("COMPANION_LOG__LEVEL", "trace")
        .finish();
    let said = format!("{}{}", finished.out, finished.err);
    assert!(!said.contains(PASSWORD), "{arguments:?}: {said}");
    finished
}

/// An address of this machine where nobody listens.
fn nobody() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

#[test]
fn a_server_that_does_not_answer_is_a_failure_that_names_it_and_what_to_check() {
    let place = nobody();
    let url = format!("postgres://bot:{PASSWORD}@{place}/companion");
    for command in [
        &["serve"][..],
        &["migrate"],
        &["export"],
        &["import", "world.ndjson"],
        &["why", "1", "2"],
        &["reseal"],
    ] {
        let failed = run(command, &url);
        assert_eq!(failed.code, Some(1), "{command:?}: {}", failed.err);
        let sentence =
            format!("companion: storage.url: cannot reach database companion on {place}: check that");
        assert!(failed.err.contains(&sentence), "{command:?}: {}", failed.err);
        assert!(
            failed.err.contains("cause: ") && failed.err.contains("refused"),
            "{command:?}: {}",
            failed.err
        );
    }
}

#[test]
fn an_address_that_wants_tls_of_a_program_without_it_is_a_mistake_of_the_configuration() {
    // The same program with TLS finds nobody there.
    if cfg!(feature = "postgres-tls") {
        return;
    }
    for mode in ["require", "verify-full"] {
        let url = format!("postgres://bot:{PASSWORD}@{}/companion?sslmode={mode}", nobody());
        let refused = run(&["serve"], &url);
        assert_eq!(refused.code, Some(2), "{}", refused.err);
        assert!(refused.err.contains("asks for TLS, which this build does not have"), "{}", refused.err);
        assert!(refused.err.contains("`postgres-tls`"), "{}", refused.err);
    }
}

#[test]
fn an_address_that_makes_no_sense_is_a_mistake_of_the_configuration() {
    let url = format!("postgres://bot:{PASSWORD}@{}/companion?no_such_option=1", nobody());
    let refused = run(&["migrate"], &url);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("has an option that PostgreSQL's client does not know"), "{}", refused.err);
}

#[test]
fn keys_that_every_node_needs_are_asked_for_all_at_once_before_the_server_is() {
    let url = format!("postgres://bot:{PASSWORD}@{}/companion", nobody());
    let refused = Program::serving(&["serve"]).env("COMPANION_STORAGE__URL", &url).finish();
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    for part in [
        "secrets.key (taken together): must be set where storage is PostgreSQL, as every node needs the same",
        "management.key (taken together): must be set where storage is PostgreSQL",
        "set COMPANION_SECRETS__KEY on every node to the output of: openssl rand -base64 32",
    ] {
        assert!(refused.err.contains(part), "{part}: {}", refused.err);
    }
    // Sealing again has nothing to do with the management API.
    let refused = Program::new(&["reseal"]).env("COMPANION_STORAGE__URL", &url).finish();
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(
        refused.err.contains("secrets.key") && !refused.err.contains("management.key"),
        "{}",
        refused.err
    );
}

#[test]
fn a_broken_address_and_missing_keys_are_told_at_once_with_an_address_that_would_work() {
    let url = format!("postgres://bot:{PASSWORD}@db.example:port/companion");
    for command in [&["serve"][..], &["config", "check"]] {
        let refused = Program::serving(command).env("COMPANION_STORAGE__URL", &url).finish();
        assert_eq!(refused.code, Some(2), "{}", refused.err);
        for part in [
            "the configuration has 3 mistakes",
            "storage.url (COMPANION_STORAGE__URL): has a port that is no number from 1 to 65535",
            "write it like COMPANION_STORAGE__URL=postgres://companion:password@localhost:5432/companion",
            "secrets.key (taken together)",
            "management.key (taken together)",
        ] {
            assert!(refused.err.contains(part), "{part}: {}", refused.err);
        }
        assert!(!refused.err.contains(PASSWORD), "{}", refused.err);
    }
}

#[test]
fn a_backup_of_a_server_is_left_to_pg_dump() {
    let url = format!("postgres://bot:{PASSWORD}@{}/companion", nobody());
    let refused = run(&["backup", "copy.db"], &url);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("use pg_dump, or `companion export`"), "{}", refused.err);
}

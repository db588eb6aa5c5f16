//! `companion config`.

use crate::program::Program;
use std::sync::Arc;
use tempfile::TempDir;

fn line<'a>(shown: &'a str, key: &str) -> &'a str {
    shown.lines().find(|line| line.starts_with(&format!("{key} = "))).unwrap()
}

#[test]
fn without_anything_the_defaults_are_right() {
    assert_eq!(Program::new(&["config", "check"]).finish().code, Some(0));
}

#[test]
fn what_serve_refuses_is_refused_by_the_check_in_the_same_words() {
    let cases: [&[(&str, &str)]; 12] = [
        &[("IDENTITY__CLIENT_ID", "1")],
        &[("IDENTITY__CLIENT_SECRET", "hunter2"), ("IDENTITY__REDIRECT_URI", "https://a.example/callback")],
        &[("IDENTITY__API_URL", "http://platform.example/api")],
        &[("STORAGE__URL", "postgres://db/companion")],
        &[("STORAGE__URL", "postgres://db/companion"), ("MANAGEMENT__KEY", "hunter2hunter2hunter2")],
        &[("STORAGE__URL", "postgres://me:hunter2@db:port/companion")],
        &[("STORAGE__URL", "postgres://me:hunter2@db/companion?no_such_option=1")],
        &[("HTTP__LISTEN", "127.0.0.1:1"), ("MANAGEMENT__LISTEN", "127.0.0.1:1")],
        &[("DASHBOARD__LISTEN", "127.0.0.1:0")],
        &[("MANAGEMENT__KEYS", "{ bot = { key_file = 'missing.key', scopes = ['feed'] } }")],
        &[
            ("MANAGEMENT__KEYS", "{ bot = { key = 'hunter2hunter2hunter2', scopes = ['feed'] } }"),
            ("MANAGEMENT__KEY", "hunter2hunter2hunter2"),
        ],
        &[(
            "MANAGEMENT__KEYS",
            r#"{"a": {"key": "hunter2hunter2hunter2", "scopes": ["feed"]},
                "b": {"key": "hunter2hunter2hunter2", "scopes": ["metrics"]}}"#,
        )],
    ];
    for case in cases {
        let folder = Arc::new(TempDir::new().unwrap());
        let run = |command: &[&str]| {
            case.iter()
                .fold(Program::within(&folder, command), |program, (key, value)| {
                    program.env(&format!("COMPANION_{key}"), value)
                })
                .finish()
        };
        let (check, serve) = (run(&["config", "check"]), run(&["serve"]));
        assert_eq!((check.code, serve.code), (Some(2), Some(2)), "{case:?}: {} {}", check.err, serve.err);
        assert_eq!(check.err, serve.err, "{case:?}");
        assert!(!check.err.contains("hunter2"), "{}", check.err);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "nothing was made: {case:?}");
    }
}

#[test]
fn a_variable_with_single_underscores_is_named() {
    let check = Program::new(&["config", "check"]).env("COMPANION_HTTP_LISTEN", "0.0.0.0:80").finish();
    let warning =
        "Warning: COMPANION_HTTP_LISTEN is set, but not read: did you mean COMPANION_HTTP__LISTEN?\n";
    assert_eq!((check.code, check.out), (Some(0), format!("The configuration is right.\n{warning}")));
}

#[test]
fn mistakes_end_with_2_and_are_all_told() {
    let program = Program::new(&["config", "check"])
        .file("companion.toml", "[http]\nlisten = 'nowhere'\n[sesions]\nidle = '1d'")
        .env("COMPANION_LOG__LEVEL", "loud")
        .env("COMPANION_IDENTITY__CLIENT_SECRET", "hunter2\thunter2");
    let finished = program.finish();
    assert_eq!(finished.code, Some(2));
    for part in [
        "4 mistakes",
        "http.listen (companion.toml:2)",
        "sesions (companion.toml:3)",
        "did you mean [sessions]?",
        "log.level (COMPANION_LOG__LEVEL)",
        "identity.client_secret (COMPANION_IDENTITY__CLIENT_SECRET)",
    ] {
        assert!(finished.err.contains(part), "{part}: {}", finished.err);
    }
    assert!(!finished.err.contains("hunter2"));
}

#[test]
fn a_management_key_that_can_be_guessed_is_refused_by_check_and_by_serve() {
    for command in [&["config", "check"][..], &["serve"]] {
        let finished = Program::new(command).env("COMPANION_MANAGEMENT__KEY", "hunter2").finish();
        assert_eq!(finished.code, Some(2), "{command:?}");
        for part in ["management.key (COMPANION_MANAGEMENT__KEY)", "16 or more", "openssl rand -base64 32"] {
            assert!(finished.err.contains(part), "{part}: {}", finished.err);
        }
        assert!(!finished.err.contains("hunter2"));
    }
}

#[test]
fn show_tells_each_value_and_where_it_came_from() {
    let program = Program::new(&["config", "show"])
        .file("companion.toml", "[sessions]\nidle = '1d'")
        .file("secret", "hunter2\n")
        .env("COMPANION_LOG__ACCESS", "true")
        .env("COMPANION_IDENTITY__CLIENT_ID", "123456")
        .env("COMPANION_STORAGE__URL", "postgres://user:hunter2@db/companion")
        .env("COMPANION_IDENTITY__CLIENT_SECRET_FILE", "secret");
    let finished = program.finish();
    assert_eq!(finished.code, Some(0), "{}", finished.err);
    let shown = |key: &str| line(&finished.out, key).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(shown("sessions.idle"), "sessions.idle = \"1d\" # companion.toml:2");
    assert_eq!(shown("log.access"), "log.access = true # COMPANION_LOG__ACCESS");
    assert_eq!(
        shown("identity.client_id"),
        "identity.client_id = \"123456\" # COMPANION_IDENTITY__CLIENT_ID"
    );
    assert_eq!(
        shown("identity.client_secret"),
        "identity.client_secret = (set) # COMPANION_IDENTITY__CLIENT_SECRET_FILE, file secret"
    );
    assert_eq!(shown("http.sign_out"), "http.sign_out = false # default");
    assert!(!finished.out.contains("hunter2"));
}

#[test]
fn a_named_file_is_read_and_must_exist() {
    let program = Program::new(&["config", "show", "--config", "mine.toml"])
        .file("mine.toml", "log.access = true")
        .file("companion.toml", "log.access = 'neither read nor checked'");
    let finished = program.finish();
    assert!(line(&finished.out, "log.access").contains("mine.toml:1"), "{}", finished.err);
    assert_eq!(Program::new(&["--config", "mine.toml", "config", "check"]).finish().code, Some(2));
}

#[test]
fn the_sample_is_a_right_configuration_with_nothing_but_defaults() {
    let sample = Program::new(&["config", "sample"]).finish();
    assert_eq!(sample.code, Some(0));
    let with = Program::new(&["config", "show"]).file("companion.toml", &sample.out).finish();
    let without = Program::new(&["config", "show"]).finish();
    assert_eq!((with.code, with.out), (Some(0), without.out));
}

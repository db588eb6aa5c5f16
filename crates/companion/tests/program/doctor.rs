//! `companion doctor`, on an installation that is well and on many that are not. Each report is in `transcripts/doctor.md`.

use crate::{
    installation::{Installation, Normal, free_address, platform_of_another_time},
    program::{Finished, Program},
    serve::{certificate, write_certificate},
    stored::run_statements,
};
use serde_json::Value;
use std::{
    collections::BTreeMap, fs, io::Write as _, net::TcpListener, os::unix::fs::PermissionsExt as _,
    path::Path, sync::Arc, thread,
};
use tempfile::TempDir;

impl Installation {
    fn doctor(&self) -> Finished {
        self.program(&["doctor"]).finish()
    }

    /// Runs doctor, and compares its report with the transcript. Returns the exit code.
    #[track_caller]
    fn examined(&self, heading: &str) -> Option<i32> {
        let finished = self.doctor();
        self.normal().compare("doctor.md", heading, &[("companion doctor", &finished)]);
        finished.code
    }
}

/// What a report says about one thing.
fn check(report: &str, name: &str) -> Value {
    let report: Value = serde_json::from_str(report).unwrap();
    report["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).unwrap().clone()
}

/// Every file of a folder, byte for byte.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn a_running_service_and_settings_that_do_not_fit() {
    let mut installation = Installation::new();
    let _service = installation.serve();
    installation.report();
    assert_eq!(installation.examined("## All is well"), Some(0));
    let right = installation.settings.clone();
    let pages = r#"{ default = "https://dashboard.example/callback", "https://old.example" = "http://old.example/back" }"#;
    let cases: [(&str, &[(&str, &str)]); 3] = [
        ("## The wrong secret", &[("IDENTITY__CLIENT_SECRET", "hunter3")]),
        (
            "## A configuration with mistakes",
            &[
                ("HTTP__LISTN", "127.0.0.1:80"),
                ("HTTP__TRUSTED_PROXIES", "[\"proxy\"]"),
                ("STORAGE__URL", "mysql://localhost"),
            ],
        ),
        (
            "## Pages that do not fit together",
            &[
                ("HTTP__ALLOWED_ORIGINS", r#"["https://dashboard.example", "https://new.example"]"#),
                ("IDENTITY__REDIRECT_URI", pages),
                ("HTTP__TRUSTED_PROXIES", r#"["0.0.0.0/0"]"#),
            ],
        ),
    ];
    for (heading, wrong) in cases {
        installation.settings.clone_from(&right);
        wrong.iter().for_each(|(key, value)| installation.set(key, value));
        assert_eq!(installation.examined(heading), Some(1));
    }
}

#[test]
fn asks_tls_listeners_for_their_certificate() {
    let mut installation = Installation::new();
    write_certificate(installation.path(), &certificate());
    installation.set("HTTP__TLS_CERTIFICATE", "certificate.pem");
    installation.set("HTTP__TLS_KEY", "key.pem");
    let _service = installation.serve();
    installation.report();
    let status = |name: &str| check(&installation.program(&["doctor", "--json"]).finish().out, name);
    for name in ["certificate", "public listener", "management listener", "preflight"] {
        assert_eq!(status(name)["status"], "ok", "{}", status(name));
    }
    fs::write(installation.path().join("key.pem"), certificate().signing_key.serialize_pem()).unwrap();
    let broken = status("certificate");
    assert_eq!((&broken["status"], &broken["key"]), (&"failed".into(), &"http.tls_certificate".into()));
}

#[test]
fn nothing_runs_yet_and_the_bot_never_reported() {
    let installation = Installation::migrated();
    assert_eq!(installation.examined("## Nothing runs yet"), Some(0), "warnings are no failure");
}

#[test]
fn uses_the_environment_if_the_file_is_unreadable() {
    let folder = Arc::new(TempDir::new().unwrap());
    fs::write(folder.path().join("companion.toml"), "[http\nlisten = 1").unwrap();
    let finished = Program::within(&folder, &["doctor", "--json"])
        .env("COMPANION_STORAGE__URL", "sqlite:elsewhere.db")
        .finish();
    assert_eq!(finished.code, Some(1));
    let report: Value = serde_json::from_str(&finished.out).unwrap();
    assert_eq!(report["status"], "failed");
    // The address of the database is known.
    for (name, status) in [
        ("configuration", "failed"),
        ("database", "warning"),
        ("provider", "skipped"),
        ("credentials", "skipped"),
    ] {
        assert_eq!(check(&finished.out, name)["status"], status, "{name}");
    }
    let checks = report["checks"].as_array().unwrap();
    for check in checks {
        let fields: Vec<_> = check.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, ["cause", "key", "name", "remedy", "status"]);
        assert_ne!(check["key"], "");
    }
}

#[test]
fn a_database_of_a_newer_version_and_files_that_others_can_read() {
    let installation = Installation::of_a_newer_version();
    fs::write(installation.path().join("companion.db.key"), "too short\n").unwrap();
    for (name, mode) in [("companion.db", 0o644), ("companion.db.key", 0o600)] {
        fs::set_permissions(installation.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    assert_eq!(installation.examined("## A database of a newer version, and a damaged key"), Some(1));
}

#[test]
fn a_folder_that_is_not_there_and_a_platform_that_is_not_either() {
    let mut installation = Installation::new();
    installation.set("STORAGE__URL", "sqlite:data/companion.db");
    let closed = free_address();
    installation.set("IDENTITY__API_URL", &format!("http://{closed}/api"));
    let normal = Normal::new(&[(&closed, "127.0.0.1:8083")]);
    let finished = installation.doctor();
    assert_eq!(finished.code, Some(1));
    let heading = "## A folder that is missing, and no way to the platform";
    normal.compare("doctor.md", heading, &[("companion doctor", &finished)]);
}

#[test]
fn a_port_that_another_program_has() {
    let mut installation = Installation::migrated();
    let without_http = TcpListener::bind("127.0.0.1:0").unwrap();
    let addresses = [platform_of_another_time(), without_http.local_addr().unwrap().to_string()];
    thread::spawn(move || {
        without_http.incoming().for_each(|stream| drop(stream.unwrap().write(b"220 hello\r\n")));
    });
    for address in addresses {
        installation.set("HTTP__LISTEN", &address);
        let finished = installation.doctor();
        assert_eq!(finished.code, Some(1));
        for told in [
            &*format!("failed   public listener      http.listen: another program listens on {address}"),
            "skipped  management listener  management.listen: no service runs here",
        ] {
            assert!(finished.out.contains(told), "{}", finished.out);
        }
        assert!(!finished.out.contains("the service runs with another address"), "{}", finished.out);
    }
}

#[test]
fn the_redirect_uri_of_the_dashboard_is_named() {
    let mut installation = Installation::migrated();
    installation.set("DASHBOARD__LISTEN", &free_address());
    installation.set("DASHBOARD__URL", "https://dashboard.example/");
    let told = "ok       redirect uris        dashboard.url: the dashboard's is https://dashboard.example/callback; it must be \
                registered at the platform, to the letter";
    let examined = installation.doctor();
    assert!(examined.out.contains(told), "{}", examined.out);
    let mut service = installation.serve();
    let said = service.said("Redirect URI:");
    assert!(said.contains("https://dashboard.example/callback "), "{said}");
}

#[test]
fn names_a_foreign_database_and_leaves_it_untouched() {
    let installation = Installation::migrated();
    run_statements(&installation.folder, "DELETE FROM __diesel_schema_migrations");
    let before = content(installation.path());
    let examined = installation.doctor();
    assert_eq!(examined.code, Some(1));
    let told = "failed   database             storage.url: companion.db is a SQLite database of another program, and was left as it \
                is\n         fix: name another file\n";
    assert!(examined.out.contains(told) && !examined.out.contains("companion migrate"), "{}", examined.out);
    let refused = installation.program(&["serve"]).finish();
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("is a SQLite database of another program"), "{}", refused.err);
    assert_eq!(content(installation.path()), before);
}

#[test]
fn looking_changes_not_a_byte_and_makes_no_file() {
    let installation = Installation::new();
    let service = installation.serve();
    installation.report();
    service.signal("KILL");
    service.finish();
    let before = content(installation.path());
    assert!(before.contains_key("companion.db-wal"));
    let killed = installation.doctor();
    assert!(killed.out.contains("bot.silent_after: it reported"), "{}", killed.out);
    assert_eq!(content(installation.path()), before);

    let folder = Arc::new(TempDir::new().unwrap());
    let program = Program::within(&folder, &["doctor"]);
    let finished = program.env("COMPANION_IDENTITY__API_URL", "http://127.0.0.1:1").finish();
    assert_eq!(finished.code, Some(0), "{}{}", finished.out, finished.err);
    assert_eq!(content(folder.path()), BTreeMap::new());
}

//! What newcomers get wrong, and what the program says. Each transcript is in `transcripts/mistakes.md`.

use crate::{
    http,
    installation::{Installation, Normal, USER, free_address, platform_of_another_time},
    program::Finished,
};
use companion_dev_identity::CodeTerms;
use serde_json::Value;
use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt as _};

const TRANSCRIPTS: &str = "mistakes.md";

/// The lines of a log that have this.
fn lines_with(log: &Finished, part: &str) -> Finished {
    let lines: String =
        log.err.lines().filter(|line| line.contains(part)).map(|line| format!("{line}\n")).collect();
    assert!(!lines.is_empty(), "{part} is not in {}", log.err);
    Finished { code: log.code, out: String::new(), err: lines }
}

/// The lines of a report about one thing, as `grep -A1` gives them.
fn about(finished: &Finished, name: &str) -> Finished {
    let mut lines = finished.out.lines();
    let mut out = String::new();
    while let Some(line) = lines.next() {
        if line.contains(name) {
            out.push_str(&format!("{line}\n{}\n", lines.next().unwrap()));
        }
    }
    assert!(!out.is_empty(), "{}", finished.out);
    Finished { code: finished.code, out, err: String::new() }
}

/// An answer as `curl` prints it.
fn answered(mut answer: http::Answer) -> Finished {
    if let Some(id) = answer.body.pointer_mut("/data/request_id") {
        *id = Value::from("1f0c6a52c1c84f0f8f3a0de1a6b4c2d7");
    }
    Finished { code: None, out: format!("{}\n", answer.body), err: String::new() }
}

#[test]
fn the_port_is_taken() {
    let mut installation = Installation::new();
    let _other = TcpListener::bind(installation.public()).unwrap();
    let refused = installation.program(&["serve"]).finish();
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""));
    installation.normal().compare(TRANSCRIPTS, "## 1. The port is taken", &[("companion serve", &refused)]);
    let taken = installation.public().to_owned();
    installation.set("HTTP__LISTEN", "127.0.0.1:0");
    installation.set("MANAGEMENT__LISTEN", &taken);
    let refused = installation.program(&["serve"]).finish().err;
    assert!(refused.contains(&format!("management.listen: cannot listen on {taken}")), "{refused}");
}

#[test]
fn the_service_does_not_start() {
    let mut without_secret = Installation::new();
    without_secret.unset("IDENTITY__CLIENT_SECRET");
    let misspelled = Installation::new();
    fs::write(misspelled.path().join("companion.toml"), "[http]\nalowed_origins = []\n").unwrap();
    for (heading, installation, code) in [
        ("## 2. The client secret is missing", without_secret, 2),
        ("## 4. The database is of a newer version", Installation::of_a_newer_version(), 1),
        ("## 6. A key is misspelled", misspelled, 2),
    ] {
        let refused = installation.program(&["serve"]).finish();
        assert_eq!(refused.code, Some(code), "{}", refused.err);
        installation.normal().compare(TRANSCRIPTS, heading, &[("companion serve", &refused)]);
    }
}

/// A bot that never connected, a proxy that is not trusted, and a bot with the wrong key.
#[test]
fn the_service_runs_without_those_around_it() {
    let mut installation = Installation::new();
    installation.set("HTTP__TRUSTED_PROXIES", "[]");
    let (service, normal) = (installation.serve(), installation.normal());
    let mut status = http::get(installation.public(), "/", &[]);
    status.body = status.body["data"]["health"]["bot"].take();
    let forwarded = [("Idp-Code", "x"), ("X-Forwarded-For", "198.51.100.7")];
    http::ask(installation.public(), "POST", "/auth", &forwarded);
    let wrong = ("Authorization", "Bearer the-wrong-management-key");
    let refused = http::ask(installation.management(), "PUT", "/bot/blocked/7", &[wrong]);
    assert_eq!(refused.status, 401);
    let report = installation.program(&["doctor"]).finish();
    let log = service.stop();
    normal.compare(
        TRANSCRIPTS,
        "## 10. The bot never connected",
        &[
            ("curl -s http://127.0.0.1:8080/ | jq -c .data.health.bot", &answered(status)),
            ("companion doctor | grep -A1 bot.silent_after", &about(&report, "bot.silent_after")),
        ],
    );
    let command =
        "curl -X PUT -H 'Authorization: Bearer the-wrong-management-key' http://127.0.0.1:8081/bot/blocked/7";
    normal.compare(TRANSCRIPTS, "## 7. The bot has the wrong key", &[(command, &answered(refused))]);
    normal.compare(
        TRANSCRIPTS,
        "## 8. The proxy is not trusted",
        &[
            ("companion serve 2>&1 | grep X-Forwarded-For", &lines_with(&log, "X-Forwarded-For")),
            ("companion doctor | grep -A1 'trusted proxies'", &about(&report, "trusted proxies")),
        ],
    );
    let audited = lines_with(&log, "use_management_key").err;
    assert!(audited.contains("key_invalid") && !audited.contains("the-wrong-management-key"), "{audited}");
}

#[test]
fn the_redirect_uri_is_not_the_one_of_the_sign_in_page() {
    let mut installation = Installation::new();
    let page = installation.setting("IDENTITY__REDIRECT_URI").to_owned();
    installation.set("IDENTITY__REDIRECT_URI", "http://localhost:3000/callback");
    let service = installation.serve();
    let terms = CodeTerms { redirect_uri: Some(page), ..CodeTerms::default() };
    let post = || {
        let code = installation.platform.control().mint_code_with(USER, terms.clone());
        http::ask(installation.public(), "POST", "/auth", &[("Idp-Code", &code)])
    };
    let [refused, ..] = [(); 4].map(|()| post());
    assert_eq!(refused.status, 401);
    let report = about(&installation.program(&["doctor"]).finish(), "redirect uris");
    let log = lines_with(&service.stop(), "identity.redirect_uri");
    assert_eq!(log.err.lines().count(), 1, "it is told once: {}", log.err);
    installation.normal().compare(
        TRANSCRIPTS,
        "## 3. The redirect URI is not that of the sign-in page",
        &[
            ("curl -X POST -H 'Idp-Code: …' http://127.0.0.1:8080/auth", &answered(refused)),
            ("companion serve 2>&1 | grep identity.redirect_uri", &log),
            ("companion doctor | grep -A1 'redirect uris'", &report),
        ],
    );
}

#[test]
fn warns_of_no_redirect_uri_after_a_sign_in() {
    let installation = Installation::new();
    let service = installation.serve();
    let made_up = || http::ask(installation.public(), "POST", "/auth", &[("Idp-Code", "made-up")]).status;
    assert_eq!([made_up(), made_up()], [401, 401]);
    installation.sign_in();
    for number in 0..4 {
        let code = format!("made-up-{number}");
        assert_eq!(http::ask(installation.public(), "POST", "/auth", &[("Idp-Code", &code)]).status, 401);
    }
    let log = service.stop().err;
    assert!(!log.contains("identity.redirect_uri"), "{log}");
}

#[test]
fn the_folder_is_read_only() {
    let installation = Installation::new();
    fs::set_permissions(installation.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let refused = installation.program(&["serve"]).without_rights().finish();
    fs::set_permissions(installation.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(refused.code, Some(1));
    let heading = "## 5. The folder is read-only";
    installation.normal().compare(TRANSCRIPTS, heading, &[("companion serve", &refused)]);
}

#[test]
fn the_clock_is_off() {
    let mut installation = Installation::migrated();
    let platform = platform_of_another_time();
    installation.set("IDENTITY__API_URL", &format!("http://{platform}/api"));
    let finished = installation.program(&["doctor"]).finish();
    assert_eq!(finished.code, Some(1));
    // Days go on.
    let days = finished.out.split("it is ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    assert!(days.parse::<u64>().unwrap() > 10_000, "{days}");
    let normal = Normal::new(&[
        (&*format!("http://{platform}"), "https://platform.example"),
        (&*format!("{days} days"), "11000 days"),
    ]);
    normal.compare("doctor.md", "## A clock that is wrong", &[("companion doctor", &finished)]);
    let clock = [("companion doctor | grep -A1 clock", &about(&finished, "clock"))];
    normal.compare(TRANSCRIPTS, "## 9. The clock is wrong", &clock);
}

#[test]
fn the_database_server_cannot_be_reached() {
    let mut installation = Installation::new();
    let closed = free_address();
    installation.set("STORAGE__URL", &format!("postgres://companion:hunter2@{closed}/companion"));
    installation.set("SECRETS__KEY", "b25lb25lb25lb25lb25lb25lb25lb25lb25lb25lb24=");
    let (_, port) = closed.split_once(':').unwrap();
    let api = installation.platform.api_url();
    let normal =
        Normal::new(&[(&closed, "127.0.0.1:5432"), (port, "5432"), (&api, "https://platform.example/api")]);
    for (command, file, heading) in [
        ("serve", TRANSCRIPTS, "## 11. PostgreSQL cannot be reached"),
        ("doctor", "doctor.md", "## PostgreSQL does not answer"),
    ] {
        let failed = installation.program(&[command]).finish();
        assert_eq!(failed.code, Some(1));
        assert!(!failed.out.contains("hunter2") && !failed.err.contains("hunter2"), "{}", failed.err);
        normal.compare(file, heading, &[(&format!("companion {command}"), &failed)]);
    }
}

#[test]
fn two_programs_serve_from_one_sqlite_file() {
    let mut installation = Installation::new();
    let first = installation.serve();
    installation.set("HTTP__LISTEN", &free_address());
    installation.set("MANAGEMENT__LISTEN", &free_address());
    let second = installation.serve();
    let log = lines_with(&second.stop(), "another program serves");
    let command = "COMPANION_HTTP__LISTEN=127.0.0.1:9080 COMPANION_MANAGEMENT__LISTEN=127.0.0.1:9081 companion serve 2>&1 | \
                   grep WARN";
    let heading = "## 12. Two programs serve from one SQLite file";
    installation.normal().compare(TRANSCRIPTS, heading, &[(command, &log)]);
    first.stop();
    // A later program is alone, and a command beside a service is not a second service.
    let third = installation.serve();
    assert_eq!(installation.program(&["migrate"]).finish().err, "");
    assert!(!third.stop().err.contains("another program serves"));
}

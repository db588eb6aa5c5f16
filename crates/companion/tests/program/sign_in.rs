//! Sign-in with a real OAuth 2.0 provider: keys, grants and their revocation.

use crate::{
    http, metrics,
    program::Program,
    stage::{Node, REDIRECT, Stage, until},
};
use serde_json::Value;
use std::{sync::mpsc::channel, thread, time::Duration};

const STORAGE: &str = "sqlite:companion.db";
const OLD: &str = "b2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xkb2w=";
const NEW: &str = "bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmU=";
const TIMEOUT: Duration = Duration::from_secs(20);

impl Stage {
    /// Creates a program with these keys, for which every guild list is stale at once.
    fn keyed(&self, arguments: &[&str], keys: &str) -> Program {
        let program = self.program(arguments, STORAGE).env("COMPANION_SECRETS__KEY", keys);
        program.env("COMPANION_GUILDS__REFRESH_AFTER", "1ms")
    }

    fn serve_keyed(&self, keys: &str) -> Node {
        Node::of(self.keyed(&["serve"], keys).start())
    }
}

#[test]
fn rotates_keys_and_refuses_one_that_opens_no_token() {
    let stage = Stage::new();
    let node = stage.serve_keyed(OLD);
    let token = node.sign_in(&stage, 1);
    node.stop();

    let refused = stage.keyed(&["serve"], NEW).finish();
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    let told = "secrets.key: it does not fit the database: no key opens the platform tokens of the users who are signed in";
    assert!(refused.err.contains(told) && refused.err.contains("fix: restore the key"), "{}", refused.err);
    assert!(!refused.err.contains(NEW), "{}", refused.err);
    for (key, line) in [
        (NEW, "failed   key                  secrets.key: it does not fit the database"),
        (OLD, "ok       key                  secrets.key: it opens what is stored"),
    ] {
        let examined = stage.keyed(&["doctor"], key).finish();
        assert!(examined.out.contains(line), "{}", examined.out);
    }

    let both = format!("[\"{NEW}\", \"{OLD}\"]");
    let node = stage.serve_keyed(&both);
    let resealed = stage.keyed(&["reseal"], &both).finish();
    assert_eq!(resealed.code, Some(0), "{}", resealed.err);
    assert!(resealed.out.starts_with("1 grant sealed again, 0 needed nothing"), "{}", resealed.out);
    assert_eq!(node.guilds(&token).status, 200);
    let page = || metrics::page(node.management(), "the-management-key");
    assert!(metrics::value(&page(), "companion_list_refreshes_total{outcome=\"stored\"}") > 0.0);
    until("sessions are counted", TIMEOUT, || page().contains("\ncompanion_sessions 1\n"));
    node.stop();

    let untouched = stage.keyed(&["reseal"], NEW).finish();
    assert!(untouched.out.starts_with("0 grants sealed again, 1 needed nothing"), "{}", untouched.out);
    let unfit = stage.keyed(&["reseal"], OLD).finish();
    assert_eq!(unfit.code, Some(1));
    assert!(unfit.err.contains("secrets.key"), "{}", unfit.err);
    // Sessions signed with the old key end when it is removed, which is the purpose of removing it.
    let node = stage.serve_keyed(NEW);
    assert_eq!(node.guilds(&token).status, 401);
    node.stop();

    // Once no user is signed in, any key fits.
    assert_eq!(stage.keyed(&["sessions", "revoke-all", "--yes"], NEW).finish().out, "1 session ended\n");
    let node = stage.serve_keyed(OLD);
    let granted = || stage.done(&["export"], STORAGE).contains("\"kind\":\"grant\"");
    until("the grant that no session uses is removed", TIMEOUT, || !granted());
    node.stop();
}

#[test]
fn removing_sign_in_ends_no_session_and_is_logged() {
    let stage = Stage::new();
    let node = stage.serve(STORAGE);
    let token = node.sign_in(&stage, 1);
    node.stop();
    let unconfigured = Program::serving_within(&stage.folder)
        .env("COMPANION_SECRETS__KEY", NEW)
        .env("COMPANION_GUILDS__REFRESH_AFTER", "1ms");
    let node = Node::of(unconfigured.start());
    for _ in 0..2 {
        let listed = node.guilds(&token);
        assert_eq!(listed.status, 200, "the last list is served: {}", listed.body);
    }
    let refused = node.post("made-up");
    assert_eq!((refused.status, &refused.body["data"]["error"]), (503, &"sign_in_not_configured".into()));
    let log = node.stop().err;
    assert!(!log.contains("end_authorisation"), "{log}");
    assert!(log.contains("identity.client_id is not set: every sign-in is refused"), "{log}");
}

/// Longer than the threshold at which a slow request is logged.
const SLOW_REQUEST: Duration = Duration::from_millis(2200);

/// One id identifies a request from the client to the platform, in the log and in the audit log.
#[test]
fn a_slow_request_is_logged_with_one_id_and_its_timings() {
    let (tell, heard) = channel();
    let platform = http::serve(move |head, _| {
        let _ = tell.send(head.to_lowercase());
        thread::park_timeout(SLOW_REQUEST);
        Vec::new()
    });
    let mut service = Program::serving(&["serve"])
        .env("COMPANION_LOG__FORMAT", "json")
        .env("COMPANION_IDENTITY__CLIENT_ID", "123")
        .env("COMPANION_IDENTITY__CLIENT_SECRET", "secret")
        .env("COMPANION_IDENTITY__REDIRECT_URI", REDIRECT)
        .env("COMPANION_IDENTITY__API_URL", &format!("http://{platform}/api"))
        .start();
    let headers = [("Idp-Code", "a-code"), ("X-Request-Id", "from-the-client")];
    let answer = http::ask(&service.public(), "POST", "/auth", &headers);
    assert_eq!(answer.status, 502, "{}", answer.body);
    let head = heard.recv().unwrap();
    assert!(head.contains("\r\nx-request-id: from-the-client\r\n"), "{head}");
    let log = service.stop().err;
    let told = |part: &str| {
        let mut lines = log.lines().filter(|line| line.contains("from-the-client"));
        let line = lines.find(|line| line.contains(part)).unwrap_or_else(|| panic!("{part} in {log}"));
        serde_json::from_str::<Value>(line).unwrap()
    };
    told("provider_failed");
    told("companion::audit");
    let slow = told("a request was slow");
    let spent = |name: &str| slow[name].as_f64().unwrap_or_else(|| panic!("{name} in {slow}"));
    assert!(spent("provider_microseconds") >= 2_000_000.0, "{slow}");
    assert!(spent("storage_microseconds") < 2_000_000.0, "{slow}");
}

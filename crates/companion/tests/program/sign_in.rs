//! End to end: the bot feeds, a user signs in with a real OAuth 2.0 provider, the five endpoints answer, and grants are
//! kept and revoked.

use crate::{
    http, metrics,
    program::Program,
    stage::{Node, REDIRECT, Stage, account, until},
};
use companion_dev_identity::{ErrorBody, Fault, Route};
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    thread,
    time::Duration,
};

const STORAGE: &str = "sqlite:companion.db";
const USER: u64 = 190_000_000_000_000_007;
const GUILD: u64 = 190_000_000_000_000_500;
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
fn the_five_endpoints_combine_bot_and_platform_data() {
    let stage = Stage::new();
    let mut user = account(USER, &[GUILD]);
    (user.global_name, user.avatar) = (Some("Night Owl".into()), Some("a_cafe".into()));
    stage.platform().put_user(user);
    let node = stage.serve(STORAGE);
    let feed = |path: &str, body: &Value| node.manage("PUT", path, &body.to_string());
    let person = json!({"username": "u", "name": "U", "id": "8", "avatar": "https://cdn.example/a.png"});
    let guild = json!({
        "name": "Night Owls", "icon": null, "members": 42, "owner": USER.to_string(), "setup": true, "linked": false,
        "roles": {"MOD": ["50"]},
    });
    let added = json!({"added": 1, "changed": 0, "removed": 0});
    assert_eq!(feed(&format!("/bot/guilds/{GUILD}"), &guild), added);
    feed("/bot/plus/8", &json!({"guilds": [GUILD.to_string()], "slots": 3}));
    let feedback =
        json!({"feedback": "Splendid", "rating": 5, "timestamp": 1_700_000_000, "submitter": person});
    feed("/bot/feedback/f-1", &feedback);
    let member = json!({
        "username": "u", "name": "U", "avatar": "https://cdn.example/a.png", "discord_id": "8", "role": "Lead",
        "color": "#1abc9c", "category": "Board", "position": 1,
    });
    feed("/bot/team", &json!([member]));
    let shard =
        json!({"heartbeatSent": 1_700_000_000, "heartbeatAcknowledged": 1_700_000_000.25, "latency": 0.04});
    let report = json!({"memory": 512.257, "started_at": 1_700_000_000, "shards": {"0": shard}});
    feed("/bot/clusters/east/heartbeat", &report);

    let session = node.post(&stage.platform().mint_code(USER)).body["data"].clone();
    let user = &session["user"];
    let cdn = user["avatar"].as_str().unwrap().split("/avatars/").next().unwrap();
    let expected = json!({
        "username": format!("user_{USER}"), "name": "Night Owl", "id": USER.to_string(),
        "avatar": format!("{cdn}/avatars/{USER}/a_cafe.gif"),
    });
    assert_eq!(*user, expected);

    let guilds = node.guilds(session["token"].as_str().unwrap()).body["data"].take();
    let [shown] = guilds.as_array().unwrap().as_slice() else { panic!("{guilds}") };
    let mut shown = shown.clone();
    let permissions = shown.as_object_mut().unwrap().remove("permissions").unwrap();
    let icon = format!("{cdn}/embed/avatars/{}.png", (GUILD >> 22) % 6);
    let expected = json!({
        "name": "Night Owls", "id": GUILD.to_string(), "icon": icon, "members": 42, "owner": USER.to_string(),
        "role": "Owner", "service": true,
        "plus": {"plus": {"userid": "8", "guilds": [GUILD.to_string()], "slots": 3}, "active": true},
    });
    assert_eq!(shown, expected);
    let permissions = permissions.as_object().unwrap();
    let granted: Vec<_> =
        permissions.iter().filter(|(_, on)| **on == true).map(|(key, _)| key.as_str()).collect();
    assert_eq!(permissions.len(), 20);
    assert_eq!(
        granted,
        [
            "ADMIN",
            "ERLC_ADMIN",
            "ERLC_MANAGER",
            "ERLC_STAFF",
            "MANAGE_SERVER",
            "MOD",
            "SERVICE_PLUS_GUILD",
            "SESSION_STARTER",
            "SETUP"
        ]
    );

    let shown_feedback =
        json!([{"feedback": "Splendid", "rating": 5, "timestamp": 1_700_000_000, "submitter": person}]);
    assert_eq!(node.get("/feedback"), shown_feedback);
    assert_eq!(node.get("/team"), json!([member]));
    let status = node.get("/");
    assert_eq!(status["resources"]["memory"], 512.26);
    assert_eq!(status["health"]["bot"]["shards"]["0"], shard);
    assert_eq!(status["health"]["bot"]["uptime"]["epoch"], 1_700_000_000);
}

#[test]
fn retries_failed_revocations_after_a_restart() {
    let stage = Stage::new();
    let control = stage.platform();
    let revoked = |times| until("asked to take it back", TIMEOUT, || control.calls(Route::Revoke) >= times);
    control.fail(Route::Revoke, Fault::Status { status: 500, body: ErrorBody::Json });
    let node = stage.serve(STORAGE);
    let token = node.sign_in(&stage, 1);
    node.sign_out(&token);
    assert_eq!(node.guilds(&token).status, 401);
    revoked(1);
    node.stop();
    control.clear_all();
    let again = stage.serve(STORAGE);
    revoked(2);
    again.stop();
    let exported = stage.done(&["export"], STORAGE);
    assert!(!exported.contains("grant"), "{exported}");
}

#[test]
fn rotates_keys_without_ending_sessions() {
    let stage = Stage::new();
    let node = stage.serve_keyed(OLD);
    let token = node.sign_in(&stage, 1);
    node.stop();

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
}

#[test]
fn refuses_to_start_with_a_key_that_opens_no_token() {
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

    // With the right key, all data is intact.
    let node = stage.serve_keyed(OLD);
    assert_eq!(node.guilds(&token).status, 200);
    node.stop();
    assert_eq!(stage.keyed(&["sessions", "revoke-all", "--yes"], NEW).finish().code, Some(0));
    stage.serve_keyed(NEW).stop();
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
    // Reads a request, stays silent for longer than the slow-request threshold, and closes the connection.
    let platform = TcpListener::bind("127.0.0.1:0").unwrap();
    let api_url = format!("http://{}/api", platform.local_addr().unwrap());
    let hearing = thread::spawn(move || {
        let (stream, _) = platform.accept().unwrap();
        let mut lines = BufReader::new(&stream).lines();
        let head: Vec<_> = lines.by_ref().map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
        stream.set_read_timeout(Some(SLOW_REQUEST)).unwrap();
        let _ = lines.map_while(Result::ok).count();
        head.iter().map(|line| line.to_lowercase()).collect::<Vec<_>>()
    });
    let mut service = Program::serving(&["serve"])
        .env("COMPANION_LOG__FORMAT", "json")
        .env("COMPANION_IDENTITY__CLIENT_ID", "123")
        .env("COMPANION_IDENTITY__CLIENT_SECRET", "secret")
        .env("COMPANION_IDENTITY__REDIRECT_URI", REDIRECT)
        .env("COMPANION_IDENTITY__API_URL", &api_url)
        .env("COMPANION_DASHBOARD__URL", "https://dashboard.example")
        .start();
    let public = service.public();
    let headers = [("Idp-Code", "a-code"), ("X-Request-Id", "from-the-client")];
    let answer = http::ask(&public, "POST", "/auth", &headers);
    assert_eq!(answer.status, 502, "{}", answer.body);
    assert_eq!(answer.body["data"]["request_id"], "from-the-client");
    let heard = hearing.join().unwrap();
    for line in [
        "x-request-id: from-the-client",
        concat!("user-agent: discordbot (https://dashboard.example, ", env!("CARGO_PKG_VERSION"), ")"),
    ] {
        assert!(heard.iter().any(|header| header == line), "{line} in {heard:?}");
    }
    let log = service.stop().err;
    let lines: Vec<serde_json::Value> =
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let told = |part: &str| {
        let found = lines
            .iter()
            .find(|line| line.to_string().contains(part) && line.to_string().contains("from-the-client"));
        found.unwrap_or_else(|| panic!("{part} in {log}"))
    };
    told("provider_failed");
    told("companion::audit");
    let slow = told("a request was slow");
    let spent = |part: &str| {
        let name = format!("{part}microseconds");
        let found = slow["fields"][&name].as_f64().or(slow[&name].as_f64());
        found.unwrap_or_else(|| panic!("{name} in {slow}"))
    };
    assert!(spent("provider_") >= 2_000_000.0 && spent("") >= spent("provider_"), "{slow}");
    assert!(spent("storage_") < 2_000_000.0 && spent("rendering_") < 2_000_000.0, "{slow}");
}

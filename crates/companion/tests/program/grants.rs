//! What the platform granted: given back, sealed again, and fresh, in the running program.

use crate::{
    http, metrics,
    program::{Finished, Program, Running},
    stage::until,
};
use companion_dev_identity::{Account, Client, DevIdentity, ErrorBody, Fault, Options, Route};
use std::{
    net::TcpListener,
    sync::Arc,
    time::{Duration, Instant},
};
use tempfile::TempDir;

const USER: u64 = 7;
const REDIRECT: &str = "https://dashboard.example/callback";
const OLD: &str = "b2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xkb2w=";
const NEW: &str = "bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmU=";

/// A platform, and a folder that services come and go in.
struct Stage {
    platform: companion_dev_identity::Running,
    folder: Arc<TempDir>,
}

impl Stage {
    fn new() -> Self {
        let user = Account {
            id: USER,
            username: "night_owl".into(),
            global_name: None,
            avatar: None,
            guilds: Vec::new(),
        };
        let client =
            Client { id: "123".into(), secret: "secret".into(), redirect_uris: vec![REDIRECT.into()] };
        let options = Options { clients: vec![client], users: vec![user], ..Options::default() };
        let platform = DevIdentity::start(TcpListener::bind("127.0.0.1:0").unwrap(), options).unwrap();
        Self { platform, folder: Arc::new(TempDir::new().unwrap()) }
    }

    fn program(&self, arguments: &[&str], keys: &str) -> Program {
        Program::within(&self.folder, arguments)
            .env("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
            .env("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0")
            .env("COMPANION_MANAGEMENT__KEY", "the-management-key")
            .env("COMPANION_SECRETS__KEY", keys)
            .env("COMPANION_GUILDS__REFRESH_AFTER", "1ms")
            .env("COMPANION_IDENTITY__CLIENT_ID", "123")
            .env("COMPANION_IDENTITY__CLIENT_SECRET", "secret")
            .env("COMPANION_IDENTITY__REDIRECT_URI", REDIRECT)
            .env("COMPANION_IDENTITY__API_URL", &self.platform.api_url())
            .env("COMPANION_IDENTITY__CDN_URL", &self.platform.cdn_url())
    }

    fn serve(&self, keys: &str) -> Service {
        let mut running = self.program(&["serve"], keys).start();
        Service { public: running.public(), management: running.management(), running }
    }

    /// Returns when the platform was asked this often to take a grant back.
    fn revoked(&self, times: u64) {
        until("the platform is asked", Duration::from_secs(20), || {
            self.platform.control().calls(Route::Revoke) >= times
        });
    }

    fn reseal(&self, keys: &str) -> Finished {
        self.program(&["reseal"], keys).finish()
    }
}

struct Service {
    running: Running,
    public: String,
    management: String,
}

impl Service {
    fn sign_in(&self, stage: &Stage) -> String {
        let code = stage.platform.control().mint_code(USER);
        let answer = http::ask(&self.public, "POST", "/auth", &[("Idp-Code", &code)]);
        answer.body["data"]["token"].as_str().unwrap().to_owned()
    }

    fn sign_out(&self, token: &str) -> u16 {
        let headers = [("Authorization", "Bearer the-management-key"), ("Token", token)];
        http::ask(&self.management, "POST", "/sessions/sign-out", &headers).status
    }

    fn guilds(&self, token: &str) -> http::Answer {
        http::get(&self.public, "/guilds", &[("Token", token)])
    }

    fn stop(self) {
        self.running.signal("INT");
        assert_eq!(self.running.finish().code, Some(0));
    }
}

#[test]
fn what_the_platform_does_not_take_back_is_offered_again_after_a_restart() {
    let stage = Stage::new();
    let control = stage.platform.control();
    control.fail(Route::Revoke, Fault::Status { status: 500, body: ErrorBody::Json });
    let service = stage.serve(OLD);
    let token = service.sign_in(&stage);
    assert_eq!(service.sign_out(&token), 200);
    assert_eq!(service.guilds(&token).status, 401);
    stage.revoked(1);
    service.stop();
    control.clear_all();
    let again = stage.serve(OLD);
    stage.revoked(2);
    again.stop();
    let exported = stage.program(&["export"], OLD).finish();
    assert!(!exported.out.contains("grant"), "{}", exported.out);
}

#[test]
fn keys_are_changed_without_signing_anyone_out() {
    let stage = Stage::new();
    let service = stage.serve(OLD);
    let token = service.sign_in(&stage);
    service.stop();

    let both = format!("[\"{NEW}\", \"{OLD}\"]");
    let resealed = stage.reseal(&both);
    assert_eq!(resealed.code, Some(0), "{}", resealed.err);
    assert!(resealed.out.starts_with("1 grant sealed again, 0 needed nothing"), "{}", resealed.out);
    let service = stage.serve(&both);
    assert_eq!(service.guilds(&token).status, 200);
    service.stop();

    let untouched = stage.reseal(NEW);
    assert!(untouched.out.starts_with("0 grants sealed again, 1 needed nothing"), "{}", untouched.out);
    let stranger = stage.reseal(OLD);
    assert_eq!(stranger.code, Some(1));
    assert!(stranger.err.contains("secrets.key"), "{}", stranger.err);
}

#[test]
fn a_key_that_opens_nothing_is_refused_at_the_start_until_everyone_is_signed_out() {
    let stage = Stage::new();
    let service = stage.serve(OLD);
    let token = service.sign_in(&stage);
    service.stop();

    let refused = stage.program(&["serve"], NEW).finish();
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    let told = "secrets.key: it does not fit the database: no key opens the platform tokens of the users who are signed in";
    assert!(refused.err.contains(told) && refused.err.contains("fix: restore the key"), "{}", refused.err);
    assert!(!refused.err.contains(NEW), "{}", refused.err);
    let examined = stage.program(&["doctor"], NEW).finish();
    let line = "failed   key                  secrets.key: it does not fit the database";
    assert!(examined.out.contains(line) && examined.code == Some(1), "{}", examined.out);
    let examined = stage.program(&["doctor"], OLD).finish();
    let line = "ok       key                  secrets.key: it opens what is stored";
    assert!(examined.out.contains(line), "{}", examined.out);

    // With the right key nothing was lost.
    let service = stage.serve(&format!("[\"{NEW}\", \"{OLD}\"]"));
    assert_eq!(service.guilds(&token).status, 200);
    service.stop();
    assert_eq!(stage.program(&["sessions", "revoke-all", "--yes"], NEW).finish().code, Some(0));
    stage.serve(NEW).stop();
}

#[test]
fn sessions_and_refreshed_lists_are_counted() {
    let stage = Stage::new();
    let service = stage.serve(OLD);
    let token = service.sign_in(&stage);
    assert_eq!(service.guilds(&token).status, 200);
    let page = metrics::page(&service.management, "the-management-key");
    assert!(metrics::value(&page, "companion_list_refreshes_total{outcome=\"stored\"}") > 0.0);
    service.stop();
    let again = stage.serve(OLD);
    let begun = Instant::now();
    let count = loop {
        let page = metrics::page(&again.management, "the-management-key");
        if page.contains("\ncompanion_sessions ") {
            break metrics::value(&page, "companion_sessions");
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "nobody counts");
    };
    assert_eq!(count, 1.0);
    again.stop();
}

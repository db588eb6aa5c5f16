//! A service whose operator has not configured sign-in, or no longer does.

use crate::{
    http,
    program::{Program, Running},
};
use companion_dev_identity::{Client, DevIdentity, Options};
use std::{net::TcpListener, sync::Arc};
use tempfile::TempDir;

#[test]
fn sign_in_that_is_not_configured_is_the_operators_fault_and_not_the_users() {
    let mut service = Program::serving(&["serve"]).start();
    let public = service.public();
    for headers in [&[][..], &[("Idp-Code", "made-up")]] {
        let answer = http::ask(&public, "POST", "/auth", headers);
        assert_eq!((answer.status, &answer.body["data"]["error"]), (503, &"sign_in_not_configured".into()));
    }
    service.signal("INT");
    let log = service.finish().err;
    assert!(log.contains("identity.client_id is not set: every sign-in is refused"), "{log}");
    assert!(log.contains("everything is forgotten when the program ends"), "{log}");
}

#[test]
fn taking_sign_in_away_signs_nobody_out() {
    const REDIRECT: &str = "https://dashboard.example/callback";
    let client = Client { id: "123".into(), secret: "secret".into(), redirect_uris: vec![REDIRECT.into()] };
    let options = Options { clients: vec![client], ..Options::default() };
    let platform = DevIdentity::start(TcpListener::bind("127.0.0.1:0").unwrap(), options).unwrap();
    let folder = Arc::new(TempDir::new().unwrap());
    let serving = || {
        Program::within(&folder, &["serve"])
            .env("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
            .env("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0")
            // Every list is too old as soon as it is there.
            .env("COMPANION_GUILDS__REFRESH_AFTER", "1ms")
    };
    let stop = |service: Running| {
        service.signal("INT");
        service.finish()
    };
    let mut configured = serving()
        .env("COMPANION_IDENTITY__CLIENT_ID", "123")
        .env("COMPANION_IDENTITY__CLIENT_SECRET", "secret")
        .env("COMPANION_IDENTITY__REDIRECT_URI", REDIRECT)
        .env("COMPANION_IDENTITY__API_URL", &platform.api_url())
        .start();
    let code = platform.control().mint_code(platform.control().users().first().unwrap().id);
    let signed_in = http::ask(&configured.public(), "POST", "/auth", &[("Idp-Code", &code)]);
    let token = signed_in.body["data"]["token"].as_str().unwrap().to_owned();
    stop(configured);

    let mut unconfigured = serving().start();
    let public = unconfigured.public();
    for _ in 0..2 {
        let listed = http::get(&public, "/guilds", &[("Token", &token)]);
        assert_eq!(listed.status, 200, "the last list is served: {}", listed.body);
    }
    let log = stop(unconfigured).err;
    assert!(!log.contains("end_authorisation"), "{log}");
}

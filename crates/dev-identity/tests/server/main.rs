//! The development identity provider.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed, and says where"
)]

mod api;
mod authorising;
mod browser;
mod control;

use browser::{Answer, Browser};
use companion_dev_identity::{Account, Client, Control, DevIdentity, Options};
use std::net::TcpListener;

const REDIRECT: &str = "http://127.0.0.1:9/back?keep=this";
const OWNER: u64 = 200_000_000_000_000_001;
const CLIENT: &str = "4711";
const SECRET: &str = "a:b&c=d+e %f/\"ä\u{1f98a}\\";
/// The example of RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

fn start() -> (Control, Browser) {
    start_with(Options::default())
}

fn account(id: u64, username: &str, name: &str) -> Account {
    let (username, global_name) = (username.to_owned(), Some(name.to_owned()));
    Account { id, username, global_name, avatar: None, guilds: Vec::new() }
}

fn start_with(mut options: Options) -> (Control, Browser) {
    options.clients = vec![Client {
        id: CLIENT.to_owned(),
        secret: SECRET.to_owned(),
        redirect_uris: vec![REDIRECT.to_owned(), "http://127.0.0.1:9/other".to_owned()],
    }];
    options.users = vec![
        account(OWNER, "sample_owner", "Sample Owner"),
        account(OWNER + 1, "sample_moderator", "Sample Moderator"),
    ];
    let control = Control::new(options);
    (control.clone(), Browser(control))
}

/// Sends a token request with the client's credentials in the form.
async fn token(browser: &Browser, fields: &[(&str, &str)]) -> Answer {
    let credentials = [("client_id", CLIENT), ("client_secret", SECRET)];
    browser.post_form("/api/v10/oauth2/token", &[fields, &credentials].concat(), &[]).await
}

async fn exchange(browser: &Browser, code: &str) -> Answer {
    token(browser, &[("grant_type", "authorization_code"), ("code", code), ("redirect_uri", REDIRECT)]).await
}

async fn refresh(browser: &Browser, refresh: &str) -> Answer {
    token(browser, &[("grant_type", "refresh_token"), ("refresh_token", refresh)]).await
}

async fn me(browser: &Browser, access: &str) -> Answer {
    browser.get("/api/v10/users/@me", &[("Authorization", &format!("Bearer {access}"))]).await
}

#[tokio::test]
async fn serves_only_loopback() {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let refused = DevIdentity::start(listener, Options::default()).unwrap_err();
    assert!(refused.to_string().contains("loopback only"), "{refused}");
}

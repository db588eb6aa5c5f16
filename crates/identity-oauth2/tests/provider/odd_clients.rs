//! What the provider refuses to be built with, and what it says about itself on the wire.

use crate::stage::{ANYONE, Stage, secret, settings};
use companion_domain::{
    port::IdentityProvider as _,
    request::{Part, RequestContext, carried},
};
use companion_identity_oauth2::{OauthIdentity, SettingsError};
use companion_testkit::clock::FixedClock;
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

fn build(api_url: &str, user_agent: &str) -> Result<OauthIdentity, SettingsError> {
    let mut settings = settings(api_url, "https://cdn.example");
    settings.user_agent = user_agent.to_owned();
    OauthIdentity::new(&settings, Arc::new(FixedClock::default()))
}

#[test]
fn plain_http_beyond_loopback_is_refused() {
    assert!(matches!(build("http://platform.example/api", "us"), Err(SettingsError::Insecure)));
    assert!(build("https://platform.example/api", "us").is_ok());
}

#[test]
fn a_user_agent_that_nobody_could_read_is_refused() {
    for agent in ["", "a\nb", "ä"] {
        assert!(
            matches!(build("https://platform.example", agent), Err(SettingsError::UserAgent)),
            "{agent:?}"
        );
    }
}

#[tokio::test]
async fn every_request_introduces_us_and_asks_for_plain_json() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let api_url = format!("http://{}/base/", listener.local_addr().unwrap());
    let provider = build(&api_url, "Companion (https://companion.example, 1)").unwrap();
    let heard = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n{\"id\": \"7\", \"username\": \"abc\"}";
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(head).unwrap().to_lowercase()
    };
    let access = secret("AN-access-token");
    let request = RequestContext::new("the-one");
    let asked = request.within(|| carried(provider.user(ANYONE, &access)));
    let (user, head) = tokio::join!(asked, heard);
    assert_eq!(user.unwrap().username.as_str(), "abc");
    assert!(head.starts_with("get /base/users/@me http/1.1\r\n"), "{head}");
    for line in [
        "user-agent: companion (https://companion.example, 1)",
        "accept-encoding: identity",
        "accept: application/json",
        "authorization: bearer an-access-token",
        "x-request-id: the-one",
    ] {
        assert_eq!(head.lines().filter(|found| *found == line).count(), 1, "{line} in {head}");
    }
    assert!(request.spent(Part::Provider) > Duration::ZERO);
}

#[tokio::test]
async fn a_token_that_fits_into_no_header_is_not_sent() {
    let stage = Stage::new();
    assert!(stage.provider.user(ANYONE, &secret("a\r\nb: c")).await.is_err());
    assert_eq!(stage.control.calls(companion_dev_identity::Route::User), 0);
}

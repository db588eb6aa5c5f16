//! The life of codes and tokens.

use crate::{CLIENT, REDIRECT, SECRET, exchange, me, refresh, start, token};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use std::time::Duration;
use url::form_urlencoded;

#[tokio::test]
async fn a_code_works_once_and_using_it_again_ends_what_it_gave() {
    let (running, browser) = start();
    let user = running.control().users()[0].id;
    let code = running.control().mint_code(user);
    let bystander = exchange(&browser, &running.control().mint_code(user)).await.text("access_token");
    let tokens = exchange(&browser, &code).await;
    assert_eq!(me(&browser, &tokens.text("access_token")).await.status, 200);
    assert_eq!(exchange(&browser, &code).await.error(), (400, "invalid_grant".to_owned()));
    assert_eq!(me(&browser, &tokens.text("access_token")).await.status, 401);
    assert_eq!(refresh(&browser, &tokens.text("refresh_token")).await.status, 400);
    assert_eq!(me(&browser, &bystander).await.status, 200);
}

#[tokio::test]
async fn a_code_lives_for_a_hundred_seconds() {
    let (running, browser) = start();
    let control = running.control();
    let user = control.users()[0].id;
    let (good, bad) = (control.mint_code(user), control.mint_code(user));
    control.forward(Duration::from_secs(98));
    assert_eq!(exchange(&browser, &good).await.status, 200);
    control.forward(Duration::from_secs(2));
    assert_eq!(exchange(&browser, &bad).await.error(), (400, "invalid_grant".to_owned()));
    assert_eq!(exchange(&browser, "never issued").await.error(), (400, "invalid_grant".to_owned()));
    let stranger = control.mint_code(1);
    assert_eq!(exchange(&browser, &stranger).await.error(), (400, "invalid_grant".to_owned()));
}

#[tokio::test]
async fn an_access_token_lives_for_seven_days_and_is_refreshed_by_rotation() {
    let (running, browser) = start();
    let control = running.control();
    let first = exchange(&browser, &control.mint_code(control.users()[0].id)).await;
    control.forward(Duration::from_secs(7 * 24 * 3600));
    assert_eq!(me(&browser, &first.text("access_token")).await.status, 401);
    let second = refresh(&browser, &first.text("refresh_token")).await;
    assert_eq!(me(&browser, &second.text("access_token")).await.status, 200);
    assert_ne!(first.text("refresh_token"), second.text("refresh_token"));
    assert_eq!(
        refresh(&browser, &first.text("refresh_token")).await.error(),
        (400, "invalid_grant".to_owned())
    );
    // An access token is no refresh token, and the other way round.
    assert_eq!(refresh(&browser, &second.text("access_token")).await.status, 400);
    assert_eq!(me(&browser, &second.text("refresh_token")).await.status, 401);
    // Refreshing ends the access token before its time.
    let third = refresh(&browser, &second.text("refresh_token")).await;
    assert_eq!(me(&browser, &second.text("access_token")).await.status, 401);
    assert_eq!(me(&browser, &third.text("access_token")).await.status, 200);
}

#[tokio::test]
async fn revoking_one_token_ends_the_whole_authorisation() {
    let (running, browser) = start();
    let control = running.control();
    let (user, other) = (control.users()[0].id, control.users()[1].id);
    for field in ["access_token", "refresh_token"] {
        let one = exchange(&browser, &control.mint_code(user)).await;
        let two = exchange(&browser, &control.mint_code(user)).await;
        let foreign = exchange(&browser, &control.mint_code(other)).await;
        let token = one.text(field);
        let fields = [("token", token.as_str()), ("client_id", CLIENT), ("client_secret", SECRET)];
        assert_eq!(browser.post_form("/api/v10/oauth2/token/revoke", &fields, &[]).await.status, 200);
        assert_eq!(me(&browser, &two.text("access_token")).await.status, 401);
        assert_eq!(refresh(&browser, &two.text("refresh_token")).await.status, 400);
        assert_eq!(me(&browser, &foreign.text("access_token")).await.status, 200);
        assert!(!control.is_authorised(user) && control.is_authorised(other));
        // A dead token is fine.
        assert_eq!(browser.post_form("/api/v10/oauth2/token/revoke", &fields, &[]).await.status, 200);
    }
}

#[tokio::test]
async fn the_client_proves_itself_in_the_header_or_in_the_form() {
    let (running, browser) = start();
    let control = running.control();
    let user = control.users()[0].id;
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let basic = |secret: &str| {
        let joined = format!("{}:{}", encoded(CLIENT), encoded(secret));
        format!("Basic {}", STANDARD.encode(joined))
    };
    let code = control.mint_code(user);
    let fields = [("grant_type", "authorization_code"), ("code", code.as_str()), ("redirect_uri", REDIRECT)];
    let path = "/api/v10/oauth2/token";

    let wrong = browser.post_form(path, &fields, &[("Authorization", &basic("wrong"))]).await;
    assert_eq!(wrong.error(), (401, "invalid_client".to_owned()));
    assert!(wrong.header("www-authenticate").is_some());
    assert_eq!(browser.post_form(path, &fields, &[]).await.error(), (401, "invalid_client".to_owned()));
    let form = [fields.as_slice(), &[("client_id", CLIENT), ("client_secret", "wrong")]].concat();
    assert_eq!(browser.post_form(path, &form, &[]).await.error(), (401, "invalid_client".to_owned()));
    // None of these spent the code.
    assert_eq!(browser.post_form(path, &fields, &[("Authorization", &basic(SECRET))]).await.status, 200);
}

#[tokio::test]
async fn a_request_that_makes_no_sense_is_refused_with_the_word_for_it() {
    let (_running, browser) = start();
    let cases: [(&[(&str, &str)], &str); 4] = [
        (&[], "invalid_request"),
        (&[("grant_type", "password")], "unsupported_grant_type"),
        (&[("grant_type", "authorization_code")], "invalid_request"),
        (&[("grant_type", "refresh_token"), ("grant_type", "refresh_token")], "invalid_request"),
    ];
    for (fields, error) in cases {
        assert_eq!(token(&browser, fields).await.error(), (400, error.to_owned()));
    }
    let wrong_method = browser.get("/api/v10/oauth2/token", &[]).await;
    assert_eq!((wrong_method.status, wrong_method.header("allow")), (405, Some("POST")));
}

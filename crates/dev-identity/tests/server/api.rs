//! The lifecycle of codes and tokens; users, guilds, pictures, and the platform's protocol rules.

use crate::{Browser, CLIENT, OWNER, REDIRECT, SECRET, exchange, me, refresh, start, start_with, token};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use companion_dev_identity::{Account, AccountGuild, Options, RateLimit};
use std::time::Duration;
use url::form_urlencoded;

#[tokio::test]
async fn reusing_a_code_revokes_its_tokens() {
    let (control, browser) = start();
    let code = control.mint_code(OWNER);
    let bystander = exchange(&browser, &control.mint_code(OWNER)).await.text("access_token");
    let tokens = exchange(&browser, &code).await;
    assert_eq!(me(&browser, &tokens.text("access_token")).await.status, 200);
    assert_eq!(exchange(&browser, &code).await.error(), (400, "invalid_grant".to_owned()));
    assert_eq!(me(&browser, &tokens.text("access_token")).await.status, 401);
    assert_eq!(refresh(&browser, &tokens.text("refresh_token")).await.status, 400);
    assert_eq!(me(&browser, &bystander).await.status, 200);
}

#[tokio::test]
async fn a_code_lives_for_a_hundred_seconds() {
    let (control, browser) = start();
    let (good, bad) = (control.mint_code(OWNER), control.mint_code(OWNER));
    control.forward(Duration::from_secs(98));
    assert_eq!(exchange(&browser, &good).await.status, 200);
    control.forward(Duration::from_secs(2));
    assert_eq!(exchange(&browser, &bad).await.error(), (400, "invalid_grant".to_owned()));
    assert_eq!(exchange(&browser, "never issued").await.error(), (400, "invalid_grant".to_owned()));
    let of_unknown_user = control.mint_code(1);
    assert_eq!(exchange(&browser, &of_unknown_user).await.error(), (400, "invalid_grant".to_owned()));
}

#[tokio::test]
async fn access_tokens_last_seven_days_and_refresh_rotates_them() {
    let (control, browser) = start();
    let first = exchange(&browser, &control.mint_code(OWNER)).await;
    control.forward(Duration::from_secs(7 * 24 * 3600));
    assert_eq!(me(&browser, &first.text("access_token")).await.status, 401);
    let second = refresh(&browser, &first.text("refresh_token")).await;
    assert_eq!(me(&browser, &second.text("access_token")).await.status, 200);
    assert_ne!(first.text("refresh_token"), second.text("refresh_token"));
    assert_eq!(
        refresh(&browser, &first.text("refresh_token")).await.error(),
        (400, "invalid_grant".to_owned())
    );
    // Access and refresh tokens are not interchangeable.
    assert_eq!(refresh(&browser, &second.text("access_token")).await.status, 400);
    assert_eq!(me(&browser, &second.text("refresh_token")).await.status, 401);
    // A refresh invalidates the access token before its expiry.
    let third = refresh(&browser, &second.text("refresh_token")).await;
    assert_eq!(me(&browser, &second.text("access_token")).await.status, 401);
    assert_eq!(me(&browser, &third.text("access_token")).await.status, 200);
}

#[tokio::test]
async fn authenticates_clients_by_header_or_form() {
    let (control, browser) = start();
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let basic = |secret: &str| {
        let joined = format!("{}:{}", encoded(CLIENT), encoded(secret));
        format!("Basic {}", STANDARD.encode(joined))
    };
    let code = control.mint_code(OWNER);
    let fields = [("grant_type", "authorization_code"), ("code", code.as_str()), ("redirect_uri", REDIRECT)];
    let path = "/api/v10/oauth2/token";

    let wrong = browser.post_form(path, &fields, &[("Authorization", &basic("wrong"))]).await;
    assert_eq!(wrong.error(), (401, "invalid_client".to_owned()));
    assert!(wrong.header("www-authenticate").is_some());
    assert_eq!(browser.post_form(path, &fields, &[]).await.error(), (401, "invalid_client".to_owned()));
    for header in ["Basic", "Basic !", "Bearer MTox", "Basic MQ==", "Basic JTpi=="] {
        let malformed = browser.post_form(path, &fields, &[("Authorization", header)]).await;
        assert_eq!(malformed.error(), (401, "invalid_client".to_owned()), "{header}");
    }
    let form = [fields.as_slice(), &[("client_id", CLIENT), ("client_secret", "wrong")]].concat();
    assert_eq!(browser.post_form(path, &form, &[]).await.error(), (401, "invalid_client".to_owned()));
    let both = browser.post_form(path, &form, &[("Authorization", &basic(SECRET))]).await;
    assert_eq!(both.error(), (400, "invalid_request".to_owned()));
    // None of these spent the code.
    assert_eq!(browser.post_form(path, &fields, &[("Authorization", &basic(SECRET))]).await.status, 200);
}

#[tokio::test]
async fn malformed_token_requests_get_the_oauth_error() {
    let (_, browser) = start();
    let cases: [(&[(&str, &str)], &str); 5] = [
        (&[], "invalid_request"),
        (&[("grant_type", "password")], "unsupported_grant_type"),
        (&[("grant_type", "authorization_code")], "invalid_request"),
        (&[("grant_type", "authorization_code"), ("code", "")], "invalid_request"),
        (&[("grant_type", "refresh_token"), ("grant_type", "refresh_token")], "invalid_request"),
    ];
    for (fields, error) in cases {
        assert_eq!(token(&browser, fields).await.error(), (400, error.to_owned()));
    }
    let wrong_method = browser.get("/api/v10/oauth2/token", &[]).await;
    assert_eq!((wrong_method.status, wrong_method.header("allow")), (405, Some("POST")));
}

fn member_of(count: u64) -> Account {
    let guild = |id| AccountGuild {
        id,
        name: format!("Guild {id}"),
        icon: None,
        owner: id == 1,
        permissions: 1 << 40,
    };
    Account {
        id: 5_000_000,
        username: "sample_joiner".to_owned(),
        global_name: None,
        avatar: None,
        guilds: (1..=count).rev().map(guild).collect(),
    }
}

async fn page(browser: &Browser, access: &str, query: &str) -> crate::Answer {
    let path = format!("/api/v10/users/@me/guilds{query}");
    browser.get(&path, &[("Authorization", &format!("Bearer {access}"))]).await
}

#[tokio::test]
async fn guild_pages_hold_one_to_two_hundred() {
    let (control, browser) = start();
    control.put_user(member_of(450));
    let access = exchange(&browser, &control.mint_code(5_000_000)).await.text("access_token");
    for (query, expected) in [("", 200), ("?limit=1", 1), ("?limit=200&after=400", 50)] {
        let guilds = page(&browser, &access, query).await.json();
        assert_eq!(guilds.as_array().unwrap().len(), expected, "{query}");
    }
    let first = &page(&browser, &access, "?limit=1").await.json()[0];
    assert_eq!(first["owner"], true);
    assert_eq!(first["permissions"], "1099511627776");
    assert!(first.get("owner_id").is_none() && first["features"].is_array());
    for query in ["?limit=0", "?limit=201", "?limit=x", "?after=x"] {
        assert_eq!(page(&browser, &access, query).await.status, 400, "{query}");
    }
}

#[tokio::test]
async fn refuses_clients_without_user_agent() {
    let (_, browser) = start();
    let nameless = browser.get("/api/v10/users/@me", &[("User-Agent", "")]).await;
    assert_eq!(nameless.status, 403);
}

#[tokio::test]
async fn rate_limited_responses_carry_retry_after() {
    let rate_limit = Some(RateLimit { requests: 2, per: Duration::from_secs(3600) });
    let (control, browser) = start_with(Options { rate_limit, ..Options::default() });
    let access = exchange(&browser, &control.mint_code(OWNER)).await.text("access_token");
    let answers = [me(&browser, &access).await, me(&browser, &access).await, me(&browser, &access).await];
    assert_eq!(answers.each_ref().map(|answer| answer.status), [200, 200, 429]);
    let remaining = answers.each_ref().map(|answer| answer.header("x-ratelimit-remaining").unwrap());
    assert_eq!(remaining, ["1", "0", "0"]);
    let limited = &answers[2];
    let wait = limited.json()["retry_after"].as_f64().unwrap();
    assert!((3500.0..=3600.0).contains(&wait), "{wait}");
    assert_eq!(limited.json()["global"], false);
    assert_eq!(limited.header("retry-after"), Some(wait.ceil().to_string().as_str()));
    // Another route has its own bucket, and time refills them all.
    assert_eq!(page(&browser, &access, "").await.status, 200);
    control.forward(Duration::from_secs(3600));
    assert_eq!(me(&browser, &access).await.status, 200);
}

#[tokio::test]
async fn serves_a_picture_of_every_user_and_guild() {
    let (_, browser) = start();
    for path in [
        "/cdn/avatars/1/abc.png",
        "/cdn/avatars/1/abc.png?size=64",
        "/cdn/icons/1/abc.png",
        "/cdn/embed/avatars/5.png",
    ] {
        let picture = browser.get(path, &[]).await;
        assert_eq!((picture.status, picture.header("content-type")), (200, Some("image/png")), "{path}");
    }
    for path in
        ["/cdn/embed/avatars/6.png", "/cdn/avatars/1/abc.gif", "/cdn/avatars/1/abc.svg", "/cdn/icons/x/y.png"]
    {
        assert_eq!(browser.get(path, &[]).await.status, 404, "{path}");
    }
}

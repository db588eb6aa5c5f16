//! The authorization page, and the redirect back.

use crate::{
    Browser, CHALLENGE, CLIENT, OWNER, REDIRECT, VERIFIER, account, exchange, me, start, start_with, token,
};
use companion_dev_identity::Options;
use std::collections::HashMap;
use url::{Url, form_urlencoded};

async fn authorize(browser: &Browser, fields: &[(&str, &str)]) -> crate::Answer {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    browser.get(&format!("/oauth2/authorize?{query}"), &[]).await
}

const BASE: [(&str, &str); 5] = [
    ("response_type", "code"),
    ("client_id", CLIENT),
    ("redirect_uri", REDIRECT),
    ("scope", "identify guilds"),
    ("state", "st&te"),
];

fn sent_back(answer: &crate::Answer) -> HashMap<String, String> {
    assert_eq!(answer.status, 302);
    let target = Url::parse(answer.header("location").unwrap()).unwrap();
    assert!(target.as_str().starts_with(REDIRECT), "{target}");
    target.query_pairs().into_owned().collect()
}

#[tokio::test]
async fn the_picked_user_is_signed_in() {
    let (_, browser) = start();
    let page = authorize(&browser, &BASE).await;
    assert_eq!(page.status, 200);
    let html = page.html();
    let link = html.split("href=\"").find(|part| part.contains("Sample Moderator")).unwrap();
    let link = link.split('"').next().unwrap().replace("&amp;", "&");

    let back = sent_back(&browser.get(&format!("/oauth2/authorize{link}"), &[]).await);
    assert_eq!((back["state"].as_str(), back["keep"].as_str()), ("st&te", "this"));
    let tokens = exchange(&browser, &back["code"]).await;
    assert_eq!(tokens.status, 200);
    assert_eq!(tokens.header("cache-control"), Some("no-store"));
    let said = tokens.json();
    assert_eq!(said["token_type"], "Bearer");
    assert_eq!(said["expires_in"], 604_800);
    assert_eq!(said["scope"], "identify guilds");
    let user = me(&browser, &tokens.text("access_token")).await.json();
    assert_eq!(user["username"], "sample_moderator");
    assert_eq!(user["global_name"], "Sample Moderator");
    assert!(user["avatar"].is_null() && user["id"].is_string());
}

#[tokio::test]
async fn grants_the_requested_scope() {
    let (_, browser) = start();
    for (scope, status) in [("guilds email", 401), ("email identify", 200)] {
        let asked = [BASE[0], BASE[1], BASE[2], ("scope", scope), ("login_hint", "sample_owner")];
        let tokens = exchange(&browser, &sent_back(&authorize(&browser, &asked).await)["code"]).await;
        assert_eq!(tokens.json()["scope"], scope);
        assert_eq!(me(&browser, &tokens.text("access_token")).await.status, status, "{scope}");
    }
}

#[tokio::test]
async fn login_hint_by_name_or_id_skips_the_page() {
    let (_, browser) = start();
    let owner = OWNER.to_string();
    for hint in ["sample_owner", &owner] {
        let back =
            sent_back(&authorize(&browser, &[BASE.as_slice(), &[("login_hint", hint)]].concat()).await);
        let access = exchange(&browser, &back["code"]).await.text("access_token");
        assert_eq!(me(&browser, &access).await.json()["id"], owner);
    }
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(BASE).finish();
    assert_eq!(browser.get(&format!("/api/v10/oauth2/authorize?{query}"), &[]).await.status, 200);
}

#[tokio::test]
async fn never_redirects_to_an_unregistered_uri() {
    let (_, browser) = start();
    for uri in
        ["http://127.0.0.1:9/back", "http://127.0.0.1:9/back?keep=this&more", "http://evil.example/", ""]
    {
        let fields = [BASE[0], BASE[1], ("redirect_uri", uri), BASE[3], ("login_hint", "sample_owner")];
        assert_eq!(authorize(&browser, &fields).await.status, 400, "{uri}");
    }
    let unknown = [BASE[0], ("client_id", "1"), BASE[2], BASE[3]];
    assert_eq!(authorize(&browser, &unknown).await.status, 400);
}

#[tokio::test]
async fn other_errors_redirect_with_the_oauth_error() {
    let (_, browser) = start();
    let cases: [(&[(&str, &str)], &str); 5] = [
        (&[("response_type", "token"), BASE[1], BASE[2], BASE[3]], "unsupported_response_type"),
        (&[BASE[0], BASE[1], BASE[2]], "invalid_scope"),
        (&[BASE[0], BASE[1], BASE[2], BASE[3], ("code_challenge", "plain")], "invalid_request"),
        (
            &[
                BASE[0],
                BASE[1],
                BASE[2],
                BASE[3],
                ("code_challenge", "x"),
                ("code_challenge_method", "plain"),
            ],
            "invalid_request",
        ),
        (&[BASE[0], BASE[1], BASE[2], BASE[3], ("login_hint", "nobody")], "access_denied"),
    ];
    for (fields, error) in cases {
        assert_eq!(sent_back(&authorize(&browser, fields).await)["error"], error);
    }
}

#[tokio::test]
async fn a_code_needs_the_verifier_and_redirect_of_its_sign_in() {
    let (_, browser) = start();
    let plain = [BASE.as_slice(), &[("login_hint", "sample_owner")]].concat();
    let challenge = [("code_challenge", CHALLENGE), ("code_challenge_method", "S256")];
    let challenged = [plain.as_slice(), &challenge].concat();
    let (wrong, other) = (VERIFIER.replace('d', "e"), "http://127.0.0.1:9/other");
    for (asked, verifier, redirect, is_good) in [
        (&challenged, Some(VERIFIER), Some(REDIRECT), true),
        (&challenged, Some(&*wrong), Some(REDIRECT), false),
        (&challenged, None, Some(REDIRECT), false),
        (&plain, Some(VERIFIER), Some(REDIRECT), false),
        (&plain, None, Some(other), false),
        (&plain, None, None, false),
    ] {
        let code = sent_back(&authorize(&browser, asked).await).remove("code").unwrap();
        let mut fields = vec![("grant_type", "authorization_code"), ("code", &code)];
        fields.extend(verifier.map(|verifier| ("code_verifier", verifier)));
        fields.extend(redirect.map(|redirect| ("redirect_uri", redirect)));
        let answer = token(&browser, &fields).await;
        assert_eq!(answer.status, if is_good { 200 } else { 400 }, "{verifier:?} {redirect:?}");
        assert!(is_good || answer.text("error") == "invalid_grant", "{verifier:?} {redirect:?}");
    }
}

#[tokio::test]
async fn the_page_shows_names_and_descriptions_escaped() {
    let descriptions = [(OWNER, "owns <two> guilds".to_owned())].into();
    let (control, browser) = start_with(Options { descriptions, ..Options::default() });
    control.put_user(account(OWNER, "sample_owner", "<script>alert(1)</script>"));
    let page = authorize(&browser, &BASE).await;
    let html = page.html();
    assert!(html.contains("&lt;script&gt;") && !html.contains("<script"));
    assert!(html.contains("sample_owner · owns &lt;two&gt; guilds"), "{html}");
    assert!(html.contains("color-scheme:light dark"), "it follows the system's choice of colours");
}

#[tokio::test]
async fn inserts_only_well_formed_codes_into_the_command() {
    let (_, browser) = start();
    for query in ["", "code=", "code=a%27;reboot;%27", "code=%3Cb%3E", "error=access_denied", "code=a&code=b"]
    {
        let shown = browser.get(&format!("/callback?{query}"), &[]).await;
        let html = shown.html();
        assert_eq!(shown.status, 400, "{query}");
        assert!(!html.contains("reboot") && !html.contains("<pre>"), "{html}");
    }
}

//! The control interface, as another process uses it.

use crate::{exchange, me, start};

#[tokio::test]
async fn another_process_can_do_what_the_handle_can() {
    let (running, browser) = start();
    let user = r#"{"id": "77", "username": "sample_guest", "guilds": [{"id": "9", "name": "G", "permissions": "8"}]}"#;
    assert_eq!(browser.json("PUT", "/control/users", user).await.status, 204);
    assert!(running.control().users().iter().any(|user| user.id == 77 && user.guilds[0].permissions == 8));
    let client = r#"{"id": "2", "secret": "s", "redirect_uris": []}"#;
    assert_eq!(browser.json("PUT", "/control/clients", client).await.status, 204);

    let mint = || browser.json("POST", "/control/codes", r#"{"user": "77"}"#);
    let tokens = exchange(&browser, &mint().await.text("code")).await;
    let access = tokens.text("access_token");
    assert_eq!(me(&browser, &access).await.status, 200);

    let (spent, late) = (mint().await.text("code"), mint().await.text("code"));
    assert_eq!(exchange(&browser, &spent).await.status, 200);
    assert_eq!(browser.json("POST", "/control/clock", r#"{"forward_ms": 100000}"#).await.status, 204);
    assert_eq!(exchange(&browser, &late).await.status, 400);

    assert_eq!(browser.json("POST", "/control/tokens/expire", r#"{"user": "77"}"#).await.status, 204);
    assert_eq!(me(&browser, &access).await.status, 401);
    assert!(running.control().is_authorised(77));
    assert_eq!(browser.json("POST", "/control/tokens/end", r#"{"user": "77"}"#).await.status, 204);
    assert!(!running.control().is_authorised(77));

    let fault = r#"{"kind": "status", "status": 503, "body": "json", "times": 1}"#;
    assert_eq!(browser.json("POST", "/control/faults/user", fault).await.status, 204);
    assert_eq!(me(&browser, &access).await.status, 503);
    assert_eq!(me(&browser, &access).await.status, 401);
    assert_eq!(browser.json("POST", "/control/faults/user", r#"{"kind": "not_json"}"#).await.status, 204);
    assert_eq!(browser.json("DELETE", "/control/faults/user", "").await.status, 204);
    assert_eq!(browser.json("DELETE", "/control/faults", "").await.status, 204);
    assert_eq!(me(&browser, &access).await.status, 401);

    let calls = browser.get("/control/calls", &[]).await.json();
    assert_eq!(
        (calls["token"].as_u64(), calls["user"].as_u64(), calls["guilds"].as_u64()),
        (Some(3), Some(5), Some(0))
    );
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let (running, browser) = start();
    let before = running.control().users();
    for (method, path, body) in [
        ("PUT", "/control/users", r#"{"id": 77, "username": "sample_guest"}"#),
        ("POST", "/control/codes", r#"{"user": "sample_owner"}"#),
        ("POST", "/control/clock", r#"{"forward": 1}"#),
        ("POST", "/control/tokens/end", "{}"),
        ("POST", "/control/faults/user", r#"{"kind": "sulk"}"#),
    ] {
        assert_eq!(browser.json(method, path, body).await.status, 400, "{path}");
    }
    assert_eq!(browser.json("POST", "/control/faults/nowhere", r#"{"kind": "silent"}"#).await.status, 404);
    let foreign_page =
        browser.send("PUT", "/control/users", &[("Content-Type", "text/plain")], "{}").await.unwrap();
    assert_ne!(foreign_page.status, 204);
    assert_eq!(running.control().users(), before);
}

#[tokio::test]
async fn only_who_asks_for_this_machine_is_obeyed() {
    let (running, browser) = start();
    let port = running.address().port();
    let json = ("Content-Type", "application/json");
    let forward = |host: String| {
        let browser = &browser;
        async move {
            let headers = [json, ("Host", &*host)];
            browser.send("POST", "/control/clock", &headers, r#"{"forward_ms": 1}"#).await.unwrap()
        }
    };
    for host in ["127.0.0.1", "[::1]", "localhost", "LocalHost", "127.0.0.2"] {
        for host in [host.to_owned(), format!("{host}:{port}")] {
            assert_eq!(forward(host.clone()).await.status, 204, "{host}");
        }
    }
    // A page of elsewhere whose name leads to this machine may send here what it likes, under its own name.
    for host in [
        "rebound.example",
        "localhost.example",
        "127.0.0.1.example",
        "192.0.2.1",
        "0.0.0.0",
        "[::]",
        "",
        "localhost@x",
    ] {
        for host in [host.to_owned(), format!("{host}:{port}")] {
            let refused = forward(host.clone()).await;
            assert_eq!(refused.status, 403, "{host}");
            assert!(refused.text("message").contains("localhost"), "{host}");
        }
    }
    let named = browser.get("/control/users", &[("Host", "rebound.example")]).await;
    assert_eq!(named.status, 403, "reading is refused too");
    let elsewhere = browser.get("http://rebound.example/control/users", &[]).await;
    assert_eq!(elsewhere.status, 403, "wherever the name stands");
}

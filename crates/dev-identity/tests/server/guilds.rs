//! Users, guilds, pictures, and the platform's manners.

use crate::{Browser, exchange, me, start, start_with};
use companion_dev_identity::{Account, AccountGuild, CodeTerms, Options, RateLimit};
use std::time::Duration;

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
async fn guilds_come_in_pages_of_two_hundred_by_ascending_id() {
    let (running, browser) = start();
    running.control().put_user(member_of(450));
    let access = exchange(&browser, &running.control().mint_code(5_000_000)).await.text("access_token");
    let (mut seen, mut sizes, mut after) = (Vec::new(), Vec::new(), "0".to_owned());
    loop {
        let guilds = page(&browser, &access, &format!("?limit=200&after={after}")).await.json();
        let guilds = guilds.as_array().unwrap().clone();
        sizes.push(guilds.len());
        if guilds.is_empty() {
            break;
        }
        seen.extend(guilds.iter().map(|guild| guild["id"].as_str().unwrap().parse::<u64>().unwrap()));
        after = seen.last().unwrap().to_string();
    }
    assert_eq!(sizes, [200, 200, 50, 0]);
    assert_eq!(seen, (1..=450).collect::<Vec<_>>());
    let first = &page(&browser, &access, "?limit=1").await.json()[0];
    assert_eq!(first["owner"], true);
    assert_eq!(first["permissions"], "1099511627776");
    assert!(first.get("owner_id").is_none() && first["features"].is_array());
    for query in ["?limit=0", "?limit=201", "?limit=x", "?after=x"] {
        assert_eq!(page(&browser, &access, query).await.status, 400, "{query}");
    }
}

#[tokio::test]
async fn a_token_opens_only_what_it_is_good_for() {
    let (running, browser) = start();
    let control = running.control();
    let terms = CodeTerms { scope: Some("identify".to_owned()), ..CodeTerms::default() };
    let access = exchange(&browser, &control.mint_code_with(control.users()[0].id, terms)).await;
    let access = access.text("access_token");
    assert_eq!(me(&browser, &access).await.status, 200);
    assert_eq!(page(&browser, &access, "").await.status, 401);
    assert_eq!(me(&browser, "unknown").await.status, 401);
}

#[tokio::test]
async fn a_client_without_a_name_is_refused() {
    let (_running, browser) = start();
    let nameless = browser.get("/api/v10/users/@me", &[("User-Agent", "")]).await;
    assert_eq!(nameless.status, 403);
}

#[tokio::test]
async fn one_request_too_many_is_told_how_long_to_wait() {
    let rate_limit = Some(RateLimit { requests: 2, per: Duration::from_secs(3600) });
    let (running, browser) = start_with(Options { rate_limit, ..Options::default() });
    let control = running.control();
    let access = exchange(&browser, &control.mint_code(control.users()[0].id)).await.text("access_token");
    let answers = [me(&browser, &access).await, me(&browser, &access).await, me(&browser, &access).await];
    assert_eq!(answers.each_ref().map(|answer| answer.status), [200, 200, 429]);
    let remaining = answers.each_ref().map(|answer| answer.header("x-ratelimit-remaining").unwrap());
    assert_eq!(remaining, ["1", "0", "0"]);
    let limited = &answers[2];
    let wait = limited.json()["retry_after"].as_f64().unwrap();
    assert!((3500.0..=3600.0).contains(&wait), "{wait}");
    assert_eq!(limited.json()["global"], false);
    assert_eq!(limited.header("retry-after"), Some(wait.ceil().to_string().as_str()));
    // Another route has a bucket of its own, and the clock empties them all.
    assert_eq!(page(&browser, &access, "").await.status, 200);
    control.forward(Duration::from_secs(3600));
    assert_eq!(me(&browser, &access).await.status, 200);
}

#[tokio::test]
async fn every_user_and_guild_has_a_picture() {
    let (_running, browser) = start();
    for (path, kind) in [
        ("/cdn/avatars/1/abc.png", "image/png"),
        ("/cdn/avatars/1/a_abc.gif", "image/gif"),
        ("/cdn/avatars/1/a_abc.png?size=64", "image/png"),
        ("/cdn/icons/1/abc.png", "image/png"),
        ("/cdn/embed/avatars/5.png", "image/png"),
    ] {
        let picture = browser.get(path, &[]).await;
        assert_eq!((picture.status, picture.header("content-type")), (200, Some(kind)), "{path}");
    }
    for path in
        ["/cdn/embed/avatars/6.png", "/cdn/avatars/1/abc.gif", "/cdn/avatars/1/abc.svg", "/cdn/icons/x/y.png"]
    {
        assert_eq!(browser.get(path, &[]).await.status, 404, "{path}");
    }
}

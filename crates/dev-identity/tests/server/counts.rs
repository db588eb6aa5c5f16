//! What tests can learn of what was asked, and change while the server runs.

use crate::{Browser, exchange, me, refresh, start, start_with};
use companion_dev_identity::{AccountGuild, Options, Route, UserCalls};
use std::time::Duration;

async fn guilds(browser: &Browser, access: &str) -> crate::Answer {
    browser.get("/api/v10/users/@me/guilds", &[("Authorization", &format!("Bearer {access}"))]).await
}

#[tokio::test]
async fn calls_are_counted_by_user_and_answers_by_status() {
    let (running, browser) = start();
    let control = running.control();
    let (one, other) = (control.users()[0].id, control.users()[1].id);
    let tokens = exchange(&browser, &control.mint_code(one)).await;
    let access = tokens.text("access_token");
    assert_eq!(guilds(&browser, &access).await.status, 200);
    let renewed = refresh(&browser, &tokens.text("refresh_token")).await;
    assert_eq!(guilds(&browser, &access).await.status, 401);
    control.expire_access(Some(one));
    // A token that has expired is still someone's.
    assert_eq!(guilds(&browser, &renewed.text("access_token")).await.status, 401);
    assert_eq!(refresh(&browser, "unheard-of").await.status, 400);
    assert_eq!(control.calls_of(one), UserCalls { guilds: 2, renewals: 1, most_at_once: 1 });
    assert_eq!(control.calls_of(other), UserCalls::default());
    let counted: Vec<_> = control.answers().into_iter().collect();
    let expected = [
        ((Route::Token, 200), 2),
        ((Route::Token, 400), 1),
        ((Route::Guilds, 200), 1),
        ((Route::Guilds, 401), 2),
    ];
    assert_eq!(counted, expected);
}

#[tokio::test]
async fn calls_in_one_name_at_the_same_time_are_noticed() {
    let options = Options { latency: Duration::from_millis(100), ..Options::default() };
    let (running, browser) = start_with(options);
    let control = running.control();
    let user = control.users()[0].id;
    let access = exchange(&browser, &control.mint_code(user)).await.text("access_token");
    tokio::join!(guilds(&browser, &access), guilds(&browser, &access), guilds(&browser, &access));
    assert_eq!(control.calls_of(user).most_at_once, 3);
}

#[tokio::test]
async fn a_user_joins_and_leaves_guilds_while_the_server_runs() {
    let (running, browser) = start();
    let control = running.control();
    let user = control.users()[0].id;
    let access = exchange(&browser, &control.mint_code(user)).await.text("access_token");
    let guild = AccountGuild { id: 77, name: "New".to_owned(), icon: None, owner: false, permissions: 8 };
    assert!(control.set_guilds(user, vec![guild]));
    let listed = guilds(&browser, &access).await.json();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["id"]), (1, &"77".into()));
    assert!(!control.set_guilds(1, Vec::new()));
}

#[tokio::test]
async fn a_clock_that_stands_still_moves_only_when_it_is_moved() {
    let options =
        Options { access_lifetime: Duration::from_micros(1), clock_stands_still: true, ..Options::default() };
    let (running, browser) = start_with(options);
    let control = running.control();
    let access = exchange(&browser, &control.mint_code(control.users()[0].id)).await.text("access_token");
    assert_eq!(me(&browser, &access).await.status, 200);
    control.forward(Duration::from_micros(1));
    assert_eq!(me(&browser, &access).await.status, 401);
}

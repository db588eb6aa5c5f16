//! Pages that change while one looks at them, without being loaded again.

use crate::browser::{
    page::Page,
    stage::{OWL, Stage, guild_id},
};
use serde_json::Value;
use std::time::{Duration, Instant};

/// Marks the document, so that one that was loaded again is known by the missing mark.
fn mark(page: &Page) {
    page.evaluate("window.marked = true");
    page.until_it_listens();
}

fn is_the_same_document(page: &Page) -> bool {
    page.evaluate("window.marked === true") == true
}

#[test]
fn a_guild_appears_within_a_second_of_the_bot_joining_and_nothing_is_lost() {
    let stage = Stage::new();
    let page = stage.signed_in("Night Owl");
    mark(&page);
    page.evaluate("document.querySelector('.card h2 a').focus()");
    let focused = page.evaluate("document.activeElement.href");
    assert!(!page.text().contains("Late Arrivals"));
    let joined = Instant::now();
    stage.join(2, "Late Arrivals", OWL);
    page.until_it_says("Late Arrivals");
    let took = joined.elapsed();
    assert!(took < Duration::from_secs(1), "{took:?}");
    println!("a guild appeared after {} ms", took.as_millis());
    assert!(is_the_same_document(&page), "without a reload");
    assert_eq!(page.evaluate("document.activeElement.href"), focused, "the focus stays");

    stage.feed("DELETE", &format!("/bot/guilds/{}", guild_id(2)), &Value::Null);
    page.until("!document.body.innerText.includes('Late Arrivals')");
    assert!(is_the_same_document(&page));
    assert_eq!(page.evaluate("document.activeElement.href"), focused);
    assert_eq!(page.complaints(), [""; 0]);
}

#[test]
fn the_bot_is_seen_to_move_on_the_status_and_on_the_home_page() {
    let stage = Stage::new();
    let (status, home) = (stage.page(), stage.page());
    status.go(&stage.at("/status"));
    home.go(&stage.at("/"));
    for page in [&status, &home] {
        mark(page);
    }
    let wall = home.evaluate("document.querySelector('.cards').innerText");
    stage.report("west", &[(4, 77)]);
    status.until_it_says("77 ms");
    status.until_it_says("Cluster west");
    home.until_it_says("online: 5 shards");
    assert_eq!(
        home.evaluate("document.querySelector('.cards').innerText"),
        wall,
        "opinions stay where they are"
    );
    for page in [&status, &home] {
        assert!(is_the_same_document(page));
        assert_eq!(page.complaints(), [""; 0]);
    }
}

#[test]
fn a_session_ended_on_another_device_leads_to_the_sign_in() {
    let stage = Stage::new();
    let (here, elsewhere) = (stage.signed_in("Night Owl"), stage.signed_in("Night Owl"));
    mark(&elsewhere);
    here.go(&stage.at("/devices"));
    here.says("Chrome on Linux");
    here.follow("End this session");
    elsewhere.until_it_says("You are signed out");
    elsewhere.follow("Sign in again");
    elsewhere.follow("Night Owl");
    assert_eq!(elsewhere.path(), "/guilds");

    // A page that is not live hears of it with the next click.
    elsewhere.go(&stage.at("/devices"));
    here.reload();
    here.follow("End this session");
    elsewhere.go(&stage.at("/my-data"));
    assert_eq!((elsewhere.status(), elsewhere.heading().as_str()), (401, "You are signed out"));
    elsewhere.follow("Sign in again");
    elsewhere.follow("Night Owl");
    assert_eq!(elsewhere.path(), "/my-data", "back where one was going");
    here.reload();
    here.says("This device");
}

#[test]
fn a_page_that_is_open_while_the_service_restarts_goes_on_by_itself() {
    let mut stage = Stage::new();
    let page = stage.signed_in("Night Owl");
    mark(&page);
    let stopping = Instant::now();
    stage.stop();
    let took = stopping.elapsed();
    assert!(took < Duration::from_secs(5), "an open page holds nobody up: {took:?}");
    stage.start();
    stage.join(2, "Late Arrivals", OWL);
    page.until_it_says("Late Arrivals");
    assert!(is_the_same_document(&page));
}

//! What open pages are told.

use crate::browser::{Browser, Site, between, html};
use actix_web::{
    body::{BoxBody, MessageBody as _},
    dev::ServiceResponse,
    test::{TestRequest, init_service},
};
use companion_domain::port::Clock as _;
use companion_testkit::world::{a_guild, a_heartbeat, an_ownership};
use futures_util::FutureExt as _;
use std::{future::poll_fn, pin::Pin, time::Duration};

/// A stream of events.
struct Events(Pin<Box<BoxBody>>);

impl Events {
    /// What is told next, heartbeats aside.
    async fn next(&mut self) -> String {
        loop {
            let chunk = poll_fn(|context| self.0.as_mut().poll_next(context)).await;
            let event = String::from_utf8(chunk.unwrap().unwrap().to_vec()).unwrap();
            if !event.starts_with(':') {
                return event;
            }
        }
    }

    /// What is told now, if anything is.
    fn now(&mut self) -> Option<String> {
        self.next().now_or_never()
    }
}

/// Opens the stream of a page that shows what it showed when it was loaded.
async fn watch(browser: &Browser<'_>, path: &str) -> Events {
    let page = browser.page(path).await;
    let seen = between(&page, "data-seen=\"", "\"").to_owned();
    let mut events = open(browser, path, &seen).await;
    assert_eq!(events.next().await, "retry: 2000\n\n");
    events
}

async fn open(browser: &Browser<'_>, path: &str, seen: &str) -> Events {
    let answer = ask(browser, path, seen).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers().get("content-type").unwrap(), "text/event-stream");
    Events(Box::pin(answer.into_body()))
}

async fn ask(browser: &Browser<'_>, path: &str, seen: &str) -> ServiceResponse<BoxBody> {
    let cookies: Vec<_> =
        browser.cookies.borrow().iter().map(|(name, value)| format!("{name}={value}")).collect();
    let request = TestRequest::get()
        .uri(&format!("/live?page={path}&seen={seen}"))
        .insert_header(("Cookie", cookies.join("; ")));
    let app = init_service(browser.site.dashboard.app()).await;
    actix_web::test::call_service(&app, request.to_request()).await
}

#[actix_web::test]
async fn the_status_and_the_home_page_hear_of_the_bot_and_of_its_silence() {
    tokio::time::pause();
    for path in ["/status", "/"] {
        let site = Site::new().await;
        let guest = Browser::of(&site);
        let report = async |cluster| {
            site.use_cases.feed.report(&a_heartbeat(cluster, site.memory.clock.now())).await.unwrap();
        };
        let mut events = watch(&guest, path).await;
        assert_eq!(events.now(), None, "{path}: nothing has changed");
        report("a").await;
        assert!(events.next().await.starts_with("event: change\n"), "{path}");
        site.memory.clock.advance(Duration::from_secs(600));
        assert!(events.next().await.starts_with("event: change\n"), "{path}: by time alone");
    }
}

#[actix_web::test]
async fn a_page_that_is_old_when_it_begins_to_listen_is_told_at_once() {
    let site = Site::new().await;
    let mut events = open(&Browser::of(&site), "/status", "0123456789abcdef").await;
    events.next().await;
    assert!(events.next().await.starts_with("event: change\n"));
}

#[actix_web::test]
async fn guilds_are_told_to_those_who_run_them_and_to_nobody_else() {
    let site = Site::new().await;
    let (one, other) = (Browser::of(&site), Browser::of(&site));
    one.sign_in(1, vec![an_ownership(10)]).await;
    other.sign_in(2, vec![an_ownership(20)]).await;
    let (mut told, mut untold) = (watch(&one, "/guilds").await, watch(&other, "/guilds").await);
    site.use_cases.feed.put_guild(&a_guild(10)).await.unwrap();
    assert!(told.next().await.starts_with("event: change\n"));
    assert_eq!(untold.now(), None);
    assert!(one.page("/guilds").await.contains("id=\"guild-10\""));
}

#[actix_web::test]
async fn a_session_that_ends_is_told_and_then_nothing_more() {
    let site = Site::new().await;
    let browser = Browser::of(&site);
    browser.sign_in(1, vec![]).await;
    let mut events = watch(&browser, "/guilds").await;
    let token = browser.form_token().await;
    assert_eq!(browser.post("/sign-out", &[("token", &token)]).await.status, 303);
    assert_eq!(events.next().await, "event: ended\ndata:\n\n");
    assert!(poll_fn(|context| events.0.as_mut().poll_next(context)).await.is_none());
}

#[actix_web::test]
async fn whoever_may_not_see_a_page_does_not_hear_of_it_either() {
    let site = Site::new().await;
    let guest = Browser::of(&site);
    assert_eq!(ask(&guest, "/guilds", "").await.status(), 401);
    assert_eq!(ask(&guest, "/guilds/1", "").await.status(), 401);
    for path in ["/team", "/nowhere", ""] {
        assert_eq!(ask(&guest, path, "").await.status(), 404, "{path}");
    }
    let signed_in = Browser::of(&site);
    signed_in.sign_in(1, vec![]).await;
    assert_eq!(ask(&signed_in, "/guilds/1", "").await.status(), 404, "not one of theirs");
}

#[actix_web::test]
async fn only_so_many_pages_are_live_at_once() {
    let site = Site::new().await;
    let guest = Browser::of(&site);
    let mut open = Vec::new();
    let refused = loop {
        let answer = ask(&guest, "/status", "").await;
        if answer.status() != 200 {
            break answer;
        }
        open.push(answer);
    };
    assert_eq!((open.len(), refused.status().as_u16()), (1000, 503));
    open.pop();
    assert_eq!(ask(&guest, "/status", "").await.status(), 200);
}

#[actix_web::test]
async fn pages_say_what_they_show_and_load_the_script_where_they_are_live() {
    let site = Site::new().await;
    for (path, live) in [("/", true), ("/status", true), ("/team", false), ("/nowhere", false)] {
        let page = html(&site.get(path).await);
        assert_eq!(page.contains("<script src=\"/assets/"), live, "{path}");
        assert_eq!(page.contains("id=\"live\" data-seen=\""), live, "{path}");
        assert!(!page.contains("data-seen=\"\""), "{path}");
    }
}

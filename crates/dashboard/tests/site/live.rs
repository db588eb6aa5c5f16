//! Streams of live pages.

use crate::{
    browser::{Browser, Site, between, html, signed_in},
    settings::stage as settings,
};
use actix_web::{
    body::{BoxBody, MessageBody as _},
    dev::ServiceResponse,
    test::{TestRequest, init_service},
};
use async_trait::async_trait;
use companion_domain::{
    change::Key,
    port::{Clock as _, Listings, Mutation, Record, StoreError},
};
use companion_http::TrustedProxies;
use companion_testkit::{
    over::{ListingsOver, Over},
    world::{a_guild, a_heartbeat, an_ownership},
};
use futures_util::FutureExt as _;
use serde_json::json;
use std::{
    collections::BTreeSet,
    future::poll_fn,
    net::IpAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// A stream of events.
struct Events(Pin<Box<BoxBody>>);

impl Events {
    /// Waits for the next event, ignoring keep-alive comments.
    async fn next(&mut self) -> String {
        loop {
            let chunk = poll_fn(|context| self.0.as_mut().poll_next(context)).await;
            let event = String::from_utf8(chunk.unwrap().unwrap().to_vec()).unwrap();
            if !event.starts_with(':') {
                return event;
            }
        }
    }

    /// Returns the next event if it is already available.
    fn now(&mut self) -> Option<String> {
        self.next().now_or_never()
    }
}

/// Opens the stream of a page as it was loaded.
async fn watch(browser: &Browser, path: &str) -> Events {
    let page = browser.page(path).await;
    let seen = between(&page, "data-seen=\"", "\"").to_owned();
    let mut events = open(browser, path, &seen).await;
    assert_eq!(events.next().await, "retry: 2000\n\n");
    events
}

async fn open(browser: &Browser, path: &str, seen: &str) -> Events {
    let answer = ask(browser, path, seen).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers().get("content-type").unwrap(), "text/event-stream");
    Events(Box::pin(answer.into_body()))
}

async fn ask(browser: &Browser, path: &str, seen: &str) -> ServiceResponse<BoxBody> {
    ask_from(browser, path, seen, TestRequest::get()).await
}

/// Requests the stream of a page, with additional properties of the request.
async fn ask_from(
    browser: &Browser,
    path: &str,
    seen: &str,
    request: TestRequest,
) -> ServiceResponse<BoxBody> {
    let request = browser.with_cookies(request.uri(&format!("/live?page={path}&seen={seen}")));
    let app = init_service(browser.site.dashboard.app()).await;
    actix_web::test::call_service(&app, request.to_request()).await
}

#[actix_web::test]
async fn public_pages_update_with_the_bot_status() {
    tokio::time::pause();
    for path in ["/status", "/"] {
        let site = Site::new().await;
        let guest = Browser::of(&site);
        let report = async |cluster| {
            site.write(Mutation::Report(a_heartbeat(cluster, site.memory.clock.now()))).await;
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
async fn pages_of_settings_update_with_them() {
    tokio::time::pause();
    let (site, browser) = settings::owned().await;
    let (mut form, mut history) =
        (watch(&browser, "/guilds/7").await, watch(&browser, "/guilds/7/history").await);
    let mut list = watch(&browser, "/guilds").await;
    assert_eq!((form.now(), history.now()), (None, None));
    let changed = Instant::now();
    settings::set(&site, json!({"welcome.roles": ["81"]})).await;
    assert!(form.next().await.starts_with("event: change\n"));
    assert!(history.next().await.starts_with("event: change\n"));
    settings::confirm(&site, &[]).await;
    assert!(form.next().await.starts_with("event: change\n"));
    assert!(changed.elapsed() < Duration::from_secs(1), "before the next regular look");
    site.write(Mutation::Remove(Key::Outline(settings::guild()))).await;
    assert!(history.next().await.starts_with("event: change\n"), "it shows names of roles");
    assert_eq!(list.now(), None, "it shows no settings");
    let seen = between(&browser.page("/guilds/7?saved=welcome").await, "data-seen=\"", "\"").to_owned();
    let mut again = open(&browser, "/guilds/7", &seen).await;
    again.next().await;
    assert_eq!(again.now(), None, "that a section was saved is not part of the live region");
}

#[actix_web::test]
async fn a_stale_page_is_notified_at_once() {
    let site = Site::new().await;
    let mut events = open(&Browser::of(&site), "/status", "0123456789abcdef").await;
    events.next().await;
    assert!(events.next().await.starts_with("event: change\n"));
}

#[actix_web::test]
async fn guild_pages_notify_only_their_users() {
    let site = Site::new().await;
    let one = Browser::signed_in(&site, 1, vec![an_ownership(10)]).await;
    let other = Browser::signed_in(&site, 2, vec![an_ownership(20)]).await;
    let (mut events_received, mut other_events) =
        (watch(&one, "/guilds").await, watch(&other, "/guilds").await);
    site.put(Record::Guild(a_guild(10))).await;
    assert!(events_received.next().await.starts_with("event: change\n"));
    assert_eq!(other_events.now(), None);
    assert!(one.page("/guilds").await.contains("id=\"guild-10\""));
}

#[actix_web::test]
async fn an_ended_session_ends_its_streams() {
    let (_, browser) = signed_in(vec![]).await;
    let mut events = watch(&browser, "/guilds").await;
    let token = browser.form_token().await;
    assert_eq!(browser.post("/sign-out", &[("token", &token)]).await.status, 303);
    assert_eq!(events.next().await, "event: ended\ndata:\n\n");
    assert!(poll_fn(|context| events.0.as_mut().poll_next(context)).await.is_none());
}

#[actix_web::test]
async fn refuses_streams_of_forbidden_pages() {
    let site = Site::new().await;
    let guest = Browser::of(&site);
    assert_eq!(ask(&guest, "/guilds", "").await.status(), 401);
    assert_eq!(ask(&guest, "/guilds/1", "").await.status(), 401);
    for path in ["/team", "/nowhere", ""] {
        assert_eq!(ask(&guest, path, "").await.status(), 404, "{path}");
    }
    let signed_in = Browser::signed_in(&site, 1, vec![]).await;
    assert_eq!(ask(&signed_in, "/guilds/1", "").await.status(), 404, "not a guild of the user");
}

/// Opens streams until one is refused.
async fn fill(mut ask: impl AsyncFnMut() -> ServiceResponse<BoxBody>) -> Vec<ServiceResponse<BoxBody>> {
    let mut open = Vec::new();
    loop {
        let answer = ask().await;
        if answer.status() != 200 {
            assert_eq!(answer.status(), 503);
            assert_eq!(answer.headers().get("retry-after").unwrap(), "30");
            return open;
        }
        open.push(answer);
    }
}

#[actix_web::test]
async fn limits_live_pages_in_total() {
    let site = Site::new().await;
    let guest = Browser::of(&site);
    let mut open = fill(async || ask(&guest, "/status", "").await).await;
    assert_eq!(open.len(), 1000);
    open.pop();
    assert_eq!(ask(&guest, "/status", "").await.status(), 200);
}

#[actix_web::test]
async fn limits_live_pages_per_address() {
    let proxy = IpAddr::from([10, 0, 0, 1]);
    let trusted = TrustedProxies::new(move |address| address == proxy);
    let site = Site::with(|settings| settings.trusted_proxies = trusted).await;
    let guest = Browser::of(&site);
    let direct = |last| TestRequest::get().peer_addr(([192, 0, 2, last], 5000).into());
    let proxied = |client: &str| {
        TestRequest::get().peer_addr((proxy, 5000).into()).insert_header(("X-Forwarded-For", client))
    };
    let mut open = fill(async || ask_from(&guest, "/status", "", direct(1)).await).await;
    assert_eq!(open.len(), 100);
    let behind = fill(async || ask_from(&guest, "/status", "", proxied("192.0.2.2")).await).await;
    assert_eq!(behind.len(), 100, "counted by client, not by proxy");
    for other in [direct(3), proxied("192.0.2.4")] {
        assert_eq!(ask_from(&guest, "/status", "", other).await.status(), 200);
    }
    assert_eq!(guest.get("/status").await.status, 200, "a page needs no stream");
    open.pop();
    assert_eq!(ask_from(&guest, "/", "", direct(1)).await.status(), 200);
}

#[actix_web::test]
async fn limits_live_pages_per_user() {
    let site = Site::new().await;
    let [one, again, other] = [1, 1, 2].map(|user| (user, Browser::of(&site)));
    for (user, browser) in [&one, &again, &other] {
        browser.sign_in(*user, vec![]).await;
    }
    let mut open = fill(async || ask(&one.1, "/guilds", "").await).await;
    assert_eq!(open.len(), 16);
    assert_eq!(ask(&again.1, "/guilds", "").await.status(), 503, "another session of the same user");
    assert_eq!(ask(&one.1, "/status", "").await.status(), 200, "a public page");
    assert_eq!(ask(&other.1, "/guilds", "").await.status(), 200);
    one.1.page("/guilds").await;
    open.pop();
    assert_eq!(ask(&again.1, "/guilds", "").await.status(), 200);
}

/// Counts reads of listings.
struct Counted {
    inner: Arc<dyn Listings>,
    count: Arc<AtomicUsize>,
}

#[async_trait]
impl ListingsOver for Counted {
    fn listings(&self) -> &dyn Listings {
        &*self.inner
    }

    async fn before(&self) -> Result<(), StoreError> {
        self.count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Returns how many listings are read to open this many streams of one session, and to notify all of them of one
/// change.
async fn listings_for(streams: usize) -> (usize, usize) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let site = Site::planned(
        |_| {},
        |plan| {
            let listings = &mut plan.memory.ports.stores.stored_listings;
            *listings = Arc::new(Over(Counted { inner: Arc::clone(listings), count: counted }));
        },
    )
    .await;
    let browser = Browser::signed_in(&site, 1, vec![an_ownership(10)]).await;
    let page = browser.page("/guilds").await;
    let seen = between(&page, "data-seen=\"", "\"");
    count.store(0, Ordering::Relaxed);
    let mut watching = Vec::new();
    for _ in 0..streams {
        let mut events = open(&browser, "/guilds", seen).await;
        assert_eq!(events.next().await, "retry: 2000\n\n");
        assert_eq!(events.now(), None);
        watching.push(events);
    }
    let opened = count.swap(0, Ordering::Relaxed);
    site.put(Record::Guild(a_guild(10))).await;
    let mut events_received = BTreeSet::new();
    for events in &mut watching {
        events_received.insert(events.next().await);
    }
    assert_eq!(events_received.len(), 1, "{events_received:?}");
    (opened, count.load(Ordering::Relaxed))
}

#[actix_web::test]
async fn renders_once_for_streams_of_the_same_view() {
    tokio::time::pause();
    let (alone, together) = (listings_for(1).await, listings_for(16).await);
    println!("listings read to open streams and to notify them: {alone:?} for 1, {together:?} for 16");
    assert_eq!(alone, together);
}

#[actix_web::test]
async fn only_live_pages_have_a_live_region() {
    let site = Site::new().await;
    for (path, live) in [("/", true), ("/status", true), ("/team", false), ("/nowhere", false)] {
        let page = html(&site.get(path).await);
        assert_eq!(page.contains("id=\"live\" data-seen=\""), live, "{path}");
        assert!(!page.contains("data-seen=\"\""), "{path}");
    }
}

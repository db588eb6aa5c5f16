//! Where a user is signed in.

use crate::browser::{Browser, Site, between, html};
use actix_web::test::TestRequest;
use companion_testkit::world::a_user;
use std::time::Duration;

#[actix_web::test]
async fn each_device_is_listed_with_its_times_and_this_one_is_marked() {
    let site = Site::new().await;
    let old = Browser::of(&site);
    old.sign_in(1, vec![]).await;
    site.memory.clock.advance(Duration::from_secs(2 * 3600));
    let new = Browser::of(&site);
    new.sign_in(1, vec![]).await;
    let page = new.page("/devices").await;
    assert_eq!((page.matches(">This device<").count(), page.matches(">Another device<").count()), (1, 1));
    assert!(page.find(">This device<") < page.find(">Another device<"));
    assert!(page.contains(">2 hours ago<") && page.contains(">just now<"), "{page}");
    for browser in [&old, &new] {
        let token = browser.cookies.borrow()["__Host-companion"].clone();
        assert!(!page.contains(token.trim_start_matches("cmp_")), "no token is shown");
    }
}

#[actix_web::test]
async fn another_device_can_be_ended_and_this_one_stays() {
    let site = Site::new().await;
    let (phone, desk) = (Browser::of(&site), Browser::of(&site));
    phone.sign_in(1, vec![]).await;
    desk.sign_in(1, vec![]).await;
    let page = desk.page("/devices").await;
    let other = &page[page.find(">Another device<").unwrap()..];
    let (id, token) =
        (between(other, "name=\"id\" value=\"", "\""), between(other, "name=\"token\" value=\"", "\""));
    let answer = desk.post("/devices/end", &[("token", token), ("id", id)]).await;
    assert_eq!((answer.status, answer.header("location")), (303, "/devices"));
    assert_eq!(phone.get("/guilds").await.status, 401);
    assert_eq!(desk.page("/devices").await.matches("End this session").count(), 0);
    let again = desk.post("/devices/end", &[("token", token), ("id", id)]).await;
    assert_eq!(again.status, 303, "it has ended, which is what was asked for");
}

#[actix_web::test]
async fn nobody_ends_the_session_of_someone_else() {
    let site = Site::new().await;
    let (one, other) = (Browser::of(&site), Browser::of(&site));
    one.sign_in(1, vec![]).await;
    other.sign_in(2, vec![]).await;
    let id = between(&one.page("/devices").await, "name=\"id\" value=\"", "\"").to_owned();
    let token = other.form_token().await;
    for id in [id.as_str(), "", "zz"] {
        assert_eq!(other.post("/devices/end", &[("token", &token), ("id", id)]).await.status, 303);
    }
    assert_eq!(one.get("/guilds").await.status, 200);
}

#[actix_web::test]
async fn ending_this_device_or_all_goes_home_signed_out() {
    let site = Site::new().await;
    let (phone, desk) = (Browser::of(&site), Browser::of(&site));
    phone.sign_in(1, vec![]).await;
    desk.sign_in(1, vec![]).await;
    let id = between(&desk.page("/devices").await, "name=\"id\" value=\"", "\"").to_owned();
    let token = desk.form_token().await;
    let answer = desk.post("/devices/end", &[("token", &token), ("id", &id)]).await;
    assert_eq!((answer.status, answer.header("location")), (303, "/"));
    assert!(desk.cookies.borrow().is_empty());
    assert_eq!(phone.get("/guilds").await.status, 200, "only this one");

    desk.sign_in(1, vec![]).await;
    let token = desk.form_token().await;
    assert_eq!(desk.post("/devices/end-all", &[("token", &token)]).await.header("location"), "/");
    assert!(desk.cookies.borrow().is_empty());
    assert_eq!(phone.get("/guilds").await.status, 401);
}

#[actix_web::test]
async fn a_device_is_shown_by_its_browser_and_system() {
    let site = Site::new().await;
    let browser = Browser::of(&site);
    site.memory.identity.put_user(a_user(1), vec![]);
    let told = browser.to_platform("/sign-in").await;
    let back = format!("/callback?code={}&state={}", browser.code(1), told["state"]);
    let agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
    let answer = browser.send(TestRequest::get().uri(&back).insert_header(("User-Agent", agent))).await;
    assert_eq!(answer.status, 303);
    let page = browser.page("/devices").await;
    assert!(page.contains("Firefox on Linux") && page.contains("This device"), "{page}");
    let data = browser.get("/my-data/download").await;
    assert!(html(&data).contains(&format!("\"user_agent\": \"{agent}\"")), "{}", html(&data));
}

//! Pages of a user's account: devices, stored data, and the forms that change them.

use crate::browser::{Browser, Site, URL, assert_shows, between, form, html, signed_in};
use actix_web::test::TestRequest;
use companion_domain::{
    model::StaffPermission,
    port::{GrantContent, Record},
};
use companion_testkit::{
    conformance::prepared::granted,
    world::{a_feedback, a_guild, a_member, a_subscription, a_user, an_ownership, user_id},
};
use serde_json::{Value, json};
use std::time::Duration;

#[actix_web::test]
async fn lists_devices_and_marks_the_current_one() {
    let site = Site::new().await;
    let old = Browser::signed_in(&site, 1, vec![]).await;
    site.memory.clock.advance(Duration::from_secs(2 * 3600));
    let new = Browser::signed_in(&site, 1, vec![]).await;
    let page = new.page("/devices").await;
    assert_eq!((page.matches(">This device<").count(), page.matches(">Another device<").count()), (1, 1));
    assert!(page.find(">This device<") < page.find(">Another device<"));
    assert!(page.contains(">2 hours ago<") && page.contains(">just now<"), "{page}");
    site.memory.clock.advance(Duration::from_secs(3));
    let page = new.page("/devices").await;
    assert!(page.contains(">in 7 days</time>, if it is not used"), "right after sign-in: {page}");
    for browser in [&old, &new] {
        let token = browser.cookies.borrow()["__Host-companion"].clone();
        assert!(!page.contains(token.trim_start_matches("cmp_")), "no token is shown");
    }
}

#[actix_web::test]
async fn the_header_names_the_user_in_a_menu() {
    let (site, browser) = signed_in(vec![]).await;
    for path in ["/", "/team", "/status", "/guilds", "/devices", "/my-data"] {
        let page = browser.page(path).await;
        let account = between(&page, "<details class=\"account\">", "</details>");
        assert!(account.contains("https://cdn.example/avatars/1.png"), "{path}: {account}");
        assert!(account.contains("<span>User 1</span></summary>"), "{path}: {account}");
        for place in ["href=\"/devices\"", "href=\"/my-data\"", "action=\"/sign-out\""] {
            assert!(account.contains(place), "{place} is not in {account}");
        }
        let main = between(&page, "<nav aria-label=\"Main\">", "</nav>");
        assert_eq!(main.matches("<li>").count(), 3, "{main}");
    }
    let guest = html(&site.get("/").await);
    assert!(!guest.contains("class=\"account\"") && guest.contains(">Sign in<"), "{guest}");
}

#[actix_web::test]
async fn the_menu_works_without_a_stored_name() {
    let (site, browser) = signed_in(vec![]).await;
    let stores = &site.memory.ports.stores;
    let content = stores.grants.find(user_id(1)).await.unwrap().unwrap().content;
    granted(stores, user_id(1), &GrantContent { profile: None, ..content }).await;
    site.use_cases.dispatcher.catch_up().await.unwrap();
    let page = browser.page("/devices").await;
    assert!(page.contains("<span>Account</span></summary>"), "{page}");
}

#[actix_web::test]
async fn ends_another_device_only() {
    let site = Site::new().await;
    let phone = Browser::signed_in(&site, 1, vec![]).await;
    let desk = Browser::signed_in(&site, 1, vec![]).await;
    let page = desk.page("/devices").await;
    let other = &page[page.find(">Another device<").unwrap()..];
    let (id, token) =
        (between(other, "name=\"id\" value=\"", "\""), between(other, "name=\"token\" value=\"", "\""));
    let answer = desk.post("/devices/end", &[("token", token), ("id", id)]).await;
    assert_eq!((answer.status, answer.header("location")), (303, "/devices?ended="));
    assert!(desk.page("/devices?ended=").await.contains("The device was signed out."));
    assert_eq!(phone.get("/guilds").await.status, 401);
    assert_eq!(desk.page("/devices").await.matches("End this session").count(), 0);
    let again = desk.post("/devices/end", &[("token", token), ("id", id)]).await;
    assert_eq!(again.status, 303, "ending an ended session succeeds");
}

#[actix_web::test]
async fn cannot_end_the_session_of_another_user() {
    let site = Site::new().await;
    let one = Browser::signed_in(&site, 1, vec![]).await;
    let other = Browser::signed_in(&site, 2, vec![]).await;
    let id = between(&one.page("/devices").await, "name=\"id\" value=\"", "\"").to_owned();
    let token = other.form_token().await;
    for id in [id.as_str(), "", "zz"] {
        assert_eq!(other.post("/devices/end", &[("token", &token), ("id", id)]).await.status, 303);
    }
    assert_eq!(one.get("/guilds").await.status, 200);
}

#[actix_web::test]
async fn ending_this_or_all_devices_signs_out() {
    let site = Site::new().await;
    let phone = Browser::signed_in(&site, 1, vec![]).await;
    let desk = Browser::of(&site);
    for (path, word, message, of_phone) in [
        ("/sign-out", "here", "You are signed out.", 200),
        ("/devices/end", "here", "You are signed out.", 200),
        ("/devices/end-all", "everywhere", "You are signed out on all devices.", 401),
    ] {
        desk.sign_in(1, vec![]).await;
        let kept = desk.cookies.borrow().clone();
        let id = between(&desk.page("/devices").await, "name=\"id\" value=\"", "\"").to_owned();
        let token = desk.form_token().await;
        let answer = desk.post(path, &[("token", &token), ("id", &id)]).await;
        let place = format!("/?signed-out={word}");
        assert_eq!((answer.status, answer.header("location")), (303, &*place));
        assert!(desk.page(&place).await.contains(&format!(">{message}<")));
        assert!(desk.cookies.borrow().is_empty());
        *desk.cookies.borrow_mut() = kept;
        assert_eq!(desk.get("/guilds").await.status, 401, "{path}: its token is no longer valid");
        assert_eq!(phone.get("/guilds").await.status, of_phone, "{path}");
    }
}

#[actix_web::test]
async fn shows_devices_by_browser_and_system() {
    let site = Site::new().await;
    let browser = Browser::of(&site);
    site.memory.identity.put_user(a_user(1), vec![]);
    let parameters = browser.to_platform("/sign-in").await;
    let back = format!("/callback?code={}&state={}", browser.code(1), parameters["state"]);
    let agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
    let answer = browser.send(TestRequest::get().uri(&back).insert_header(("User-Agent", agent))).await;
    assert_eq!(answer.status, 303);
    let page = browser.page("/devices").await;
    assert!(page.contains("Firefox on Linux") && page.contains("This device"), "{page}");
    let data = browser.get("/my-data/download").await;
    assert!(html(&data).contains(&format!("\"user_agent\": \"{agent}\"")), "{}", html(&data));
    let other = Browser::signed_in(&site, 1, vec![]).await;
    let page = other.page("/devices").await;
    let row = &page[page.find("Firefox on Linux").unwrap()..];
    let (id, token) =
        (between(row, "name=\"id\" value=\"", "\""), between(row, "name=\"token\" value=\"", "\""));
    let answer = other.post("/devices/end", &[("token", token), ("id", id)]).await;
    assert_eq!(answer.header("location"), "/devices?ended=Firefox+on+Linux");
    let page = other.page("/devices?ended=Firefox+on+Linux").await;
    assert!(page.contains(">Firefox on Linux was signed out.<"), "{page}");
    let page = other.page("/devices?ended=Call+555+now").await;
    assert!(page.contains(">The device was signed out.<") && !page.contains("555"), "{page}");
}

/// Gives user 1 some of every kind, and user 2 a feedback entry.
async fn populate(site: &Site) {
    site.put(Record::Guild(a_guild(7))).await;
    site.put(Record::Member(a_member(7, 1, &[70]))).await;
    site.put(Record::Subscription(a_subscription(1, &[7]))).await;
    site.put(Record::Staff(user_id(1), [StaffPermission::Support].into_iter().collect())).await;
    site.put(Record::Feedback(a_feedback("mine", 2))).await;
    let mut other = a_feedback("theirs", 5);
    other.submitter = a_user(2);
    site.put(Record::Feedback(other.clone())).await;
}

#[actix_web::test]
async fn summarises_stored_data_with_its_actions() {
    let site = Site::new().await;
    populate(&site).await;
    let browser = Browser::signed_in(&site, 1, vec![an_ownership(7), an_ownership(8)]).await;
    let page = browser.page("/my-data").await;
    assert!(page.contains("<strong>User 1</strong>"), "{page}");
    let shown = [
        "Your name and picture</th><td>User 1</td>",
        "Devices that are signed in</th><td>1</td>",
        "list of yours</th><td>2</td>",
        "with their names</th><td>1</td>",
        "knows your roles</th><td>1</td>",
        "Subscription</th><td>1 slot</td>",
        "by name</th><td>SUPPORT</td>",
        "you left</th><td>1</td>",
        "href=\"/my-data/download\"",
        "href=\"/my-data/forget\"",
    ];
    assert_shows(&page, &shown);
    let bare = Browser::signed_in(&site, 3, vec![]).await;
    assert!(bare.page("/my-data").await.contains("Subscription</th><td>none</td>"));
}

#[actix_web::test]
async fn the_export_is_the_users_own_without_tokens() {
    let site = Site::new().await;
    populate(&site).await;
    let browser = Browser::signed_in(&site, 1, vec![an_ownership(7), an_ownership(8)]).await;
    let answer = browser.get("/my-data/download").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    assert_eq!(answer.header("content-disposition"), "attachment; filename=\"my-data.json\"");
    assert_eq!(answer.header("cache-control"), "private, no-store");
    let data: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(data["user"], "1");
    assert_eq!((&data["grant"]["name"], &data["staff"]), (&json!("User 1"), &json!(["SUPPORT"])));
    assert_eq!(data["feedback"].as_array().map(Vec::len), Some(1));
    let token = browser.cookies.borrow()["__Host-companion"].clone();
    assert!(!data.to_string().contains(token.trim_start_matches("cmp_")));
    assert_eq!(Browser::of(&site).get("/my-data/download").await.status, 303, "guests are redirected");
}

#[actix_web::test]
async fn forgetting_asks_for_confirmation() {
    let site = Site::new().await;
    populate(&site).await;
    let browser = Browser::signed_in(&site, 1, vec![]).await;
    let question = browser.page("/my-data/forget").await;
    assert!(question.contains("premium subscription") && question.contains("next sync"), "{question}");
    assert!(site.use_cases.show_user.show(user_id(1)).await.unwrap().is_some(), "nothing is deleted yet");
    let token = between(&question, "name=\"token\" value=\"", "\"");
    let answer = browser.post("/my-data/forget", &[("token", token)]).await;
    assert_eq!((answer.status, answer.header("location")), (303, "/forgotten"));
    assert_eq!(site.use_cases.show_user.show(user_id(1)).await.unwrap(), None);
    assert!(
        site.use_cases.show_user.show(user_id(2)).await.unwrap().is_some(),
        "other users keep their data"
    );
    assert!(browser.cookies.borrow().is_empty());
    assert!(browser.page("/forgotten").await.contains("You are forgotten"));
    assert_eq!(browser.get("/guilds").await.status, 303);
}

const FORMS: [&str; 6] =
    ["/sign-out", "/devices/end", "/devices/end-all", "/my-data/forget", "/guilds/7", "/guilds/7/history"];

#[actix_web::test]
async fn rejects_cross_site_forms() {
    let (site, browser) = signed_in(vec![]).await;
    let token = browser.form_token().await;
    let other_user = Browser::signed_in(&site, 2, vec![]).await;
    let other_token = other_user.form_token().await;
    for path in FORMS {
        let good = || form(path, &[("token", &token)]);
        for (why, request) in [
            ("another origin", good().insert_header(("Origin", "https://evil.example"))),
            ("no origin", good()),
            ("a hidden origin", good().insert_header(("Origin", "null"))),
            ("another scheme", good().insert_header(("Origin", "http://dashboard.example"))),
            ("no token", form(path, &[]).insert_header(("Origin", URL))),
            ("another's token", form(path, &[("token", &other_token)]).insert_header(("Origin", URL))),
        ] {
            let answer = browser.send(request).await;
            assert_eq!(answer.status, 403, "{path}, {why}");
            assert!(html(&answer).contains("Nothing was changed"));
        }
        browser.get(path).await;
    }
    assert_eq!(browser.get("/guilds").await.status, 200, "still signed in, and GET has changed nothing");
}

#[actix_web::test]
async fn a_form_of_an_ended_session_reports_it() {
    let (_, browser) = signed_in(vec![]).await;
    let token = browser.form_token().await;
    assert_eq!(browser.post("/devices/end-all", &[("token", &token)]).await.status, 303);
    for path in FORMS {
        let answer = browser.post(path, &[("token", &token)]).await;
        assert_eq!(answer.status, 401, "{path}");
        assert!(html(&answer).contains("href=\"/sign-in?return=/guilds\""));
    }
}

#[actix_web::test]
async fn rejects_a_large_form() {
    let (_, browser) = signed_in(vec![]).await;
    let answer = browser.post("/sign-out", &[("token", &"x".repeat(1001))]).await;
    assert_eq!(answer.status, 413);
}

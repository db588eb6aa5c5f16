//! What is stored about a user.

use crate::browser::{Browser, Site, between};
use companion_domain::{model::StaffGrant, port::Record};
use companion_testkit::world::{
    a_feedback, a_guild, a_member, a_subscription, a_user, an_ownership, user_id,
};
use serde_json::{Value, json};

/// User 1 has some of everything, and user 2 has left feedback.
async fn populate(site: &Site) {
    let feed = &site.use_cases.feed;
    feed.records.put(Record::Guild(a_guild(7))).await.unwrap();
    feed.records.put(Record::Member(a_member(7, 1, &[70]))).await.unwrap();
    feed.records.put(Record::Subscription(a_subscription(1, &[7]))).await.unwrap();
    feed.records.put(Record::Staff(user_id(1), [StaffGrant::Support].into_iter().collect())).await.unwrap();
    feed.records.put(Record::Feedback(a_feedback("mine", 2))).await.unwrap();
    let mut other = a_feedback("theirs", 5);
    other.submitter = a_user(2);
    feed.records.put(Record::Feedback(other.clone())).await.unwrap();
}

#[actix_web::test]
async fn the_page_says_how_much_there_is_and_offers_to_take_it_away_or_forget_it() {
    let site = Site::new().await;
    populate(&site).await;
    let browser = Browser::of(&site);
    browser.sign_in(1, vec![an_ownership(7), an_ownership(8)]).await;
    let page = browser.page("/my-data").await;
    for shown in [
        "Devices that are signed in</th><td>1</td>",
        "list of yours</th><td>2</td>",
        "knows your roles</th><td>1</td>",
        "Subscription</th><td>1 slot</td>",
        "by name</th><td>SUPPORT</td>",
        "you left</th><td>1</td>",
        "href=\"/my-data/download\"",
        "href=\"/my-data/forget\"",
    ] {
        assert!(page.contains(shown), "{shown} is not in {page}");
    }
    let bare = Browser::of(&site);
    bare.sign_in(3, vec![]).await;
    assert!(bare.page("/my-data").await.contains("Subscription</th><td>none</td>"));
}

#[actix_web::test]
async fn the_download_is_the_users_own_and_has_no_token() {
    let site = Site::new().await;
    populate(&site).await;
    let browser = Browser::of(&site);
    browser.sign_in(1, vec![an_ownership(7)]).await;
    let answer = browser.get("/my-data/download").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    assert_eq!(answer.header("content-disposition"), "attachment; filename=\"my-data.json\"");
    assert_eq!(answer.header("cache-control"), "private, no-store");
    let data: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(data["user"], "1");
    assert_eq!(data["staff"], json!(["SUPPORT"]));
    assert_eq!(data["plus"], json!({"guilds": ["7"], "slots": 1}));
    assert_eq!(data["feedback"].as_array().map(Vec::len), Some(1));
    assert_eq!(data["grant"]["guilds"], json!([{"guild": "7", "owner": true, "permissions": "0"}]));
    let token = browser.cookies.borrow()["__Host-companion"].clone();
    assert!(!data.to_string().contains(token.trim_start_matches("cmp_")));
    assert_eq!(Browser::of(&site).get("/my-data/download").await.status, 303, "nobody else");
}

#[actix_web::test]
async fn forgetting_asks_a_second_time_and_says_what_goes_and_what_returns() {
    let site = Site::new().await;
    populate(&site).await;
    let browser = Browser::of(&site);
    browser.sign_in(1, vec![]).await;
    let question = browser.page("/my-data/forget").await;
    assert!(question.contains("premium subscription") && question.contains("next sync"), "{question}");
    assert!(site.use_cases.show_user.show(user_id(1)).await.unwrap().is_some(), "nothing is gone yet");
    let token = between(&question, "name=\"token\" value=\"", "\"");
    let answer = browser.post("/my-data/forget", &[("token", token)]).await;
    assert_eq!((answer.status, answer.header("location")), (303, "/forgotten"));
    assert_eq!(site.use_cases.show_user.show(user_id(1)).await.unwrap(), None);
    assert!(site.use_cases.show_user.show(user_id(2)).await.unwrap().is_some(), "others stay");
    assert!(browser.cookies.borrow().is_empty());
    assert!(browser.page("/forgotten").await.contains("You are forgotten"));
    assert_eq!(browser.get("/guilds").await.status, 303);
}

//! The history of settings, and undoing.

use super::stage::{SectionForm, owned, owner, publish, schema, set, site, stored, values};
use crate::browser::{Browser, assert_shows, between, html};
use companion_domain::{
    model::Profile,
    port::{GrantContent, Record},
};
use companion_testkit::{
    conformance::prepared::granted,
    world::{a_user, name, user_id},
};
use serde_json::json;

async fn undo(browser: &Browser, revision: &str) -> companion_testkit::api::service::Answer {
    let token = browser.form_token().await;
    browser.post("/guilds/7/history", &[("token", &token), ("revision", revision)]).await
}

#[actix_web::test]
async fn tells_who_changed_what_through_what() {
    let (site, browser) = owned().await;
    set(&site, json!({"welcome.roles": ["81"], "welcome.enabled": false})).await;
    let mut form = SectionForm::open(&browser, "welcome").await;
    form.fill("value.greeting", &["<i>Hi</i>"]);
    form.save(&browser).await;
    let page = browser.page("/guilds/7/history").await;
    let (first, second) = (page.find("id=\"revision-1\"").unwrap(), page.find("id=\"revision-2\"").unwrap());
    assert!(second < first, "newest first");
    let shown = [
        "User 9, <time",
        "through the bot",
        "You, <time",
        "on this site",
        "<th scope=\"row\">Welcome: The enabled</th><td>Default (On)</td><td>Off</td>",
        "<th scope=\"row\">Welcome: The roles</th><td>Not set</td><td><span class=\"role\">",
        "fill=\"#AA5500\"/></svg>@Owls</span></td>",
        "<td>Default (Welcome!)</td><td>&#60;i&#62;Hi&#60;/i&#62;</td>",
    ];
    assert_shows(&page, &shown);
}

#[actix_web::test]
async fn users_are_named_while_they_are_signed_in() {
    let (site, browser) = owned().await;
    set(&site, json!({"welcome.enabled": false})).await;
    let avatar = "https://cdn.example/a.png".parse().unwrap();
    let profile = Some(Profile { name: name("Night <Owl>"), avatar });
    let stores = &site.memory.ports.stores;
    let version = granted(stores, user_id(9), &GrantContent { profile, ..GrantContent::default() }).await;
    for path in ["/guilds/7", "/guilds/7/history"] {
        let page = browser.page(path).await;
        assert!(page.contains("Night &#60;Owl&#62;") && !page.contains("User 9"), "{page}");
    }
    assert!(stores.grants.remove_unused(user_id(9), version).await.unwrap());
    assert!(browser.page("/guilds/7/history").await.contains("User 9, <time"));
}

#[actix_web::test]
async fn a_forgotten_user_is_not_named() {
    let site = site().await;
    site.memory.identity.put_user(a_user(9), vec![]);
    set(&site, json!({"welcome.enabled": false})).await;
    site.use_cases.forget.forget(user_id(9)).await.unwrap();
    let browser = owner(&site).await;
    let mut form = SectionForm::open(&browser, "welcome").await;
    form.fill("value.delay", &["3"]);
    form.save(&browser).await;
    let page = browser.page("/guilds/7/history").await;
    assert!(!page.contains("User 9") && page.contains("The bot, <time"), "{page}");
    site.use_cases.forget.forget(user_id(1)).await.unwrap();
    let again = owner(&site).await;
    let page = again.page("/guilds/7/history").await;
    assert!(page.contains("A user who was forgotten, <time") && !page.contains("You, <time"), "{page}");
}

#[actix_web::test]
async fn undoing_restores_the_values_before() {
    let (site, browser) = owned().await;
    set(&site, json!({"welcome.greeting": "First", "welcome.delay": 9})).await;
    set(&site, json!({"welcome.greeting": "Second", "welcome.enabled": false})).await;
    set(&site, json!({"welcome.delay": 10})).await;
    let answer = undo(&browser, "2").await;
    assert_eq!((answer.status, answer.header("location")), (303, "/guilds/7/history"));
    assert_eq!(values(&site).await, json!({"welcome.greeting": "First", "welcome.delay": 10}));
    assert_eq!(stored(&site).await.revision, 4);
    assert!(
        between(&browser.page("/guilds/7/history").await, "id=\"revision-4\"", "</section>").contains("You,")
    );
}

#[actix_web::test]
async fn only_editable_entries_can_be_undone() {
    let (site, browser) = owned().await;
    set(&site, json!({"welcome.delay": 9, "open.word": "x"})).await;
    set(&site, json!({"welcome.delay": 8})).await;
    let page = browser.page("/guilds/7/history").await;
    assert_eq!(page.matches(">Undo</button>").count(), 1, "{page}");
    assert_eq!(undo(&browser, "1").await.status, 403);
    let unknown = undo(&browser, "99").await;
    assert_eq!(unknown.status, 422);
    assert!(html(&unknown).contains("role=\"alert\">Nothing was undone: revision is not in the history"));

    let mut newer = schema();
    newer["sections"][0]["fields"].as_array_mut().unwrap().retain(|field| field["key"] != "delay");
    publish(&site, newer).await;
    let page = browser.page("/guilds/7/history").await;
    assert!(page.contains("welcome.delay</th>") && !page.contains(">Undo</button>"), "{page}");
    assert_eq!(undo(&browser, "2").await.status, 422);
    site.put(Record::Blocked(user_id(1))).await;
    assert_eq!(browser.get("/guilds/7/history").await.status, 403);
}

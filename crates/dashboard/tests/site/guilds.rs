//! The guilds of a user.

use crate::browser::{Browser, Site, html};
use companion_domain::{model::Guild, port::Record};
use companion_testkit::world::{a_guild, a_membership, a_subscription, an_ownership, name};

#[actix_web::test]
async fn without_guilds_the_page_says_what_to_do_next() {
    let site = Site::new().await;
    let browser = Browser::of(&site);
    browser.sign_in(1, vec![an_ownership(7)]).await;
    let page = browser.page("/guilds").await;
    assert!(page.contains("in none of the guilds that you run"), "{page}");
    assert!(page.contains("href=\"https://platform.example/invite\""));

    let site = Site::with(|settings| settings.invite_url = None).await;
    let browser = Browser::of(&site);
    browser.sign_in(1, vec![]).await;
    assert!(browser.page("/guilds").await.contains("Invite it, or ask"));
}

#[actix_web::test]
async fn a_card_has_icon_role_plus_members_and_set_up_state() {
    let site = Site::new().await;
    let feed = &site.use_cases.feed;
    let bare = Guild { icon: None, setup: false, ..a_guild(8) };
    let foreign = Guild {
        name: name("<b>Foreign</b> Picture"),
        icon: Some("https://evil.example/x.png".parse().unwrap()),
        ..a_guild(9)
    };
    for guild in [a_guild(7), bare, foreign] {
        feed.records.put(Record::Guild(guild.clone())).await.unwrap();
    }
    feed.records.put(Record::Subscription(a_subscription(5, &[7]))).await.unwrap();
    let browser = Browser::of(&site);
    browser.sign_in(1, vec![an_ownership(7), an_ownership(8), an_ownership(9), a_membership(10)]).await;
    let page = browser.page("/guilds").await;
    for shown in [
        "href=\"/guilds/7\">Guild 7<",
        "https://cdn.example/icons/7.png",
        "https://cdn.example/embed/avatars/0.png",
        ">Owner<",
        "42 members",
        ">Not set up yet<",
        "&#60;b&#62;Foreign",
        ">BP<",
    ] {
        assert!(page.contains(shown), "{shown} is not in {page}");
    }
    assert_eq!(page.matches(">Plus<").count(), 1);
    assert!(!page.contains("evil.example") && !page.contains("<b>"));
}

#[actix_web::test]
async fn two_users_see_only_their_own() {
    let site = Site::new().await;
    for guild in [7, 8] {
        site.use_cases.feed.records.put(Record::Guild(a_guild(guild))).await.unwrap();
    }
    let (one, other) = (Browser::of(&site), Browser::of(&site));
    one.sign_in(1, vec![an_ownership(7)]).await;
    other.sign_in(2, vec![an_ownership(8)]).await;
    let (first, second) = (one.page("/guilds").await, other.page("/guilds").await);
    assert!(first.contains("Guild 7") && !first.contains("Guild 8"));
    assert!(second.contains("Guild 8") && !second.contains("Guild 7"));
    assert!(!html(&one.get("/guilds/8").await).contains("Guild 8"));
    assert_eq!(one.get("/guilds/8").await.status, 404);
}

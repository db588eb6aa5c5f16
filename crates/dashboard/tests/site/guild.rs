//! One guild.

use crate::browser::{Browser, Site};
use companion_domain::{
    model::{Guild, RoleBindings, RoleKey, StaffGrant},
    port::Record,
};
use companion_testkit::world::{a_guild, a_member, a_membership, an_ownership, name, roles, user_id};

#[actix_web::test]
async fn every_permission_has_its_reason() {
    let site = Site::new().await;
    let feed = &site.use_cases.feed;
    let guild = Guild {
        name: name("<Harbour>"),
        bindings: RoleBindings::new([(RoleKey::Admin, roles(&[70, 71]))]),
        ..a_guild(7)
    };
    feed.records.put(Record::Guild(guild.clone())).await.unwrap();
    feed.records.put(Record::Member(a_member(7, 1, &[71, 99]))).await.unwrap();
    feed.records.put(Record::Staff(user_id(1), [StaffGrant::Support].into_iter().collect())).await.unwrap();
    let browser = Browser::of(&site);
    browser.sign_in(1, vec![a_membership(7)]).await;
    let page = browser.page("/guilds/7").await;
    for shown in [
        "<title>&#60;Harbour&#62; – Night Watch</title>",
        ">Administrator<",
        "<code>ADMIN</code></th><td><span class=\"badge good\">yes</span></td><td>Granted because you have the role 71, \
         which this guild binds to ADMIN.</td>",
        "<code>MOD</code></th><td><span class=\"badge good\">yes</span></td><td>Comes with ADMIN, because you have the \
         role 71",
        "<code>SUPPORT</code></th><td><span class=\"badge good\">yes</span></td><td>Granted because the team gave it to \
         you by name.",
        "<code>MANAGE_SERVER</code></th><td><span class=\"badge\">no</span></td><td>Nothing grants it to you here.",
        "<code>SETUP</code></th><td><span class=\"badge good\">yes</span></td>",
    ] {
        assert!(page.contains(shown), "{shown} is not in {page}");
    }
    assert_eq!(page.matches("<th scope=\"row\">").count(), 20);
}

#[actix_web::test]
async fn a_guild_that_is_not_set_up_says_what_to_do_next() {
    let site = Site::new().await;
    site.use_cases.feed.records.put(Record::Guild(Guild { setup: false, ..a_guild(7) })).await.unwrap();
    let browser = Browser::of(&site);
    browser.sign_in(1, vec![an_ownership(7)]).await;
    let page = browser.page("/guilds/7").await;
    assert!(page.contains("Run its set-up command") && page.contains("because you own this guild"), "{page}");
}

#[actix_web::test]
async fn a_guild_that_one_does_not_run_is_not_found() {
    let site = Site::new().await;
    site.use_cases.feed.records.put(Record::Guild(a_guild(7))).await.unwrap();
    let browser = Browser::of(&site);
    browser.sign_in(1, vec![a_membership(7)]).await;
    for path in ["/guilds/7", "/guilds/8", "/guilds/0", "/guilds/x"] {
        assert_eq!(browser.get(path).await.status, 404, "{path}");
    }
}

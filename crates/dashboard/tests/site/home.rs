//! The home page.

use crate::browser::{Site, html};
use companion_domain::{
    model::{Feedback, Roster},
    port::{Clock as _, Mutation, Record, StoreErrorKind},
};
use companion_testkit::{
    api::faulty::Fault,
    world::{a_feedback, a_heartbeat, a_team_member, a_user, name},
};
use std::time::Duration;

#[actix_web::test]
async fn a_new_site_says_what_it_is_and_what_to_do_next() {
    let site = Site::new().await;
    let answer = site.get("/").await;
    assert_eq!(answer.status, 200);
    let page = html(&answer);
    assert!(page.contains("<title>Home – Night Watch</title>"), "{page}");
    assert!(page.contains("Night Watch is silent: it has not reported yet"));
    assert!(page.contains("Nobody has left feedback yet"));
    assert!(page.contains("href=\"/sign-in?return=/guilds\""), "from home one goes to one's guilds");
    assert!(page.contains("href=\"https://platform.example/invite\""));
    assert!(page.contains("href=\"https://platform.example/support\""));
    assert!(
        page.contains("href=\"#content\"") && page.contains("id=\"content\""),
        "a way past the navigation"
    );
}

#[actix_web::test]
async fn links_that_are_not_configured_are_not_there() {
    let site = Site::with(|settings| (settings.invite_url, settings.support_url) = (None, None)).await;
    let page = html(&site.get("/").await);
    assert!(!page.contains("Invite") && !page.contains("upport"), "{page}");
}

#[actix_web::test]
async fn feedback_and_the_bot_are_shown_and_nothing_in_them_is_markup() {
    let site = Site::new().await;
    let hostile = Feedback {
        text: "<script>alert(1)</script>".parse().unwrap(),
        submitter: companion_domain::model::User {
            name: name("\"><img src=x onerror=alert(2)>"),
            avatar: "https://evil.example/track.png".parse().unwrap(),
            ..a_user(3)
        },
        ..a_feedback("a", 5)
    };
    site.use_cases.feed.records.put(Record::Feedback(hostile.clone())).await.unwrap();
    site.use_cases
        .feed
        .records
        .write(Mutation::Report(a_heartbeat("a", site.memory.clock.now())))
        .await
        .unwrap();
    let page = html(&site.get("/").await);
    assert!(page.contains("Night Watch is online: 1 shard."), "{page}");
    assert!(page.contains("5 of 5 stars"));
    assert!(page.contains("script&#62;alert(1)") || page.contains("script&gt;alert(1)"), "{page}");
    assert!(!page.contains("<script>") && !page.contains("<img src=x"), "{page}");
    assert!(!page.contains("evil.example"), "nobody else hears of visitors");
    assert!(page.contains(">IS<") || page.contains("initials"), "initials stand for the picture");
}

#[actix_web::test]
async fn what_everyone_may_see_comes_from_memory_and_needs_no_store() {
    let site = Site::new().await;
    site.use_cases.feed.records.put(Record::Feedback(a_feedback("a", 5))).await.unwrap();
    let roster = Roster::new(vec![a_team_member(4, "Engineering", 1)]).unwrap();
    site.use_cases.feed.records.write(Mutation::ReplaceTeam(roster.clone())).await.unwrap();
    // Feedback is loaded beside the requests.
    site.memory.ports.scheduler.finish(Duration::from_secs(30)).await;
    site.store.set(Some(Fault::Fails(StoreErrorKind::Unavailable)));
    assert_eq!(site.get("/status").await.status, 200);
    assert!(html(&site.get("/").await).contains("5 of 5 stars"));
    let team = site.get("/team").await;
    assert!(team.status == 200 && html(&team).contains("Engineering"), "{}", html(&team));
}

//! The page of the team.

use crate::browser::{Site, html};
use companion_domain::{
    model::{Roster, TeamMember},
    port::Mutation,
};
use companion_testkit::world::{a_team_member, name};

#[actix_web::test]
async fn the_team_is_shown_by_category_in_its_order() {
    let site = Site::new().await;
    assert!(html(&site.get("/team").await).contains("has not introduced itself yet"));
    let hostile = TeamMember { role: name("<i>Lead</i>"), ..a_team_member(3, "Support & Co", 1) };
    let team = vec![a_team_member(2, "Builders", 2), a_team_member(1, "Builders", 1), hostile];
    site.use_cases.feed.records.write(Mutation::ReplaceTeam(Roster::new(team).unwrap())).await.unwrap();
    let page = html(&site.get("/team").await);
    let places: Vec<_> = [">Builders<", ">User 1<", ">User 2<", "Support &#38; Co", ">User 3<", "i&#62;Lead"]
        .map(|text| page.find(text).unwrap_or_else(|| panic!("{text} is not in {page}")))
        .into();
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(page.matches(">Builders<").count(), 1);
    assert!(page.contains("fill=\"#1ABC9C\"") && page.contains("https://cdn.example/avatars/1.png"));
    assert!(page.contains("href=\"/sign-in?return=/team\""), "a sign-in leads back here");
}

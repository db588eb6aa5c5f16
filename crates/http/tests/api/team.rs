//! `GET /team`.

use crate::{faulty::Fault, service::Service};
use actix_web::{http::Method, test::TestRequest};
use companion_domain::{
    model::Roster,
    port::{Mutation, StoreErrorKind},
};
use companion_testkit::world::a_team_member;
use serde_json::json;

async fn with_team(members: &[(u64, &str, i32)]) -> Service {
    let service = Service::new().await;
    put_team(&service, members).await;
    service
}

async fn put_team(service: &Service, members: &[(u64, &str, i32)]) {
    let members = members.iter().map(|(user, category, position)| a_team_member(*user, category, *position));
    service
        .use_cases
        .feed
        .records
        .write(Mutation::ReplaceTeam(Roster::new(members.collect()).unwrap()))
        .await
        .unwrap();
}

#[actix_web::test]
async fn a_member_has_exactly_the_fields_of_the_contract() {
    let service = with_team(&[(1, "Support", 2)]).await;
    let member = json!({
        "username": "user1",
        "name": "User 1",
        "avatar": "https://cdn.example/avatars/1.png",
        "discord_id": "1",
        "role": "Developer",
        "color": "#1ABC9C",
        "category": "Support",
        "position": 2,
    });
    assert_eq!(service.get("/team").await.data(), json!([member]));
}

#[actix_web::test]
async fn the_team_is_shown_in_order() {
    let service = with_team(&[(1, "Support", 1), (2, "Development", 2), (3, "Development", 1)]).await;
    let data = service.get("/team").await.data();
    let ids: Vec<_> =
        data.as_array().unwrap().iter().map(|member| member["discord_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["3", "2", "1"]);
}

#[actix_web::test]
async fn whoever_has_the_newest_team_gets_no_second_copy() {
    let service = with_team(&[(1, "Support", 1)]).await;
    let first = service.get("/team").await;
    let tag = first.header("etag").to_owned();
    assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() == 45, "{tag}");
    assert_eq!(first.header("cache-control"), "max-age=60");
    for method in [Method::GET, Method::HEAD] {
        let request =
            TestRequest::default().method(method).uri("/team").insert_header(("If-None-Match", &*tag));
        let again = service.call(request).await;
        assert_eq!((again.status, again.body.len()), (304, 0));
        assert_eq!((again.header("etag"), again.header("cache-control")), (&*tag, "max-age=60"));
        assert!(!again.header("x-request-id").is_empty());
        assert_eq!(again.header("vary"), "Origin");
    }
}

#[actix_web::test]
async fn the_tag_changes_with_the_team_and_only_with_it() {
    let service = with_team(&[(1, "Support", 1)]).await;
    let tag = service.get("/team").await.header("etag").to_owned();
    assert_eq!(service.get("/team").await.header("etag"), tag);
    put_team(&service, &[(1, "Support", 2)]).await;
    let newer = service.call(TestRequest::get().uri("/team").insert_header(("If-None-Match", &*tag))).await;
    assert_eq!(newer.status, 200);
    assert_ne!(newer.header("etag"), tag);
    put_team(&service, &[(1, "Support", 1)]).await;
    assert_eq!(service.get("/team").await.header("etag"), tag, "the same bytes have the same tag");
}

#[actix_web::test]
async fn the_team_stays_on_show_while_the_store_is_down() {
    let service = with_team(&[(1, "Support", 1)]).await;
    let before = service.get("/team").await;
    service.store.set(Some(Fault::Fails(StoreErrorKind::Unavailable)));
    assert_eq!(service.get("/team").await.body, before.body);
}

#[actix_web::test]
async fn a_team_that_was_never_loaded_is_not_an_empty_team() {
    let service = Service::unloaded().await;
    service.get("/team").await.assert_error(503, "storage_unavailable");
    service.use_cases.following.catch_up().await.unwrap();
    assert_eq!(service.get("/team").await.data(), json!([]));
}

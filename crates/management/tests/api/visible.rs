//! A change is visible in the public API before it is answered.

use super::{
    delete, put,
    sample::{feedback, guild, team_member},
};
use crate::service::Service;
use actix_web::test::TestRequest;
use companion_testkit::world::{a_membership, an_ownership};
use serde_json::{Value, json};

#[actix_web::test]
async fn guilds_members_subscriptions_and_staff_show_at_once() {
    let service = Service::new().await;
    let token = service.signed_in(vec![a_membership(7), an_ownership(8)]).await;
    let seen = async || service.guilds(&token).await.data();
    assert_eq!(seen().await, json!([]));
    service.manage(put("/bot/guilds/7", &guild())).await;
    assert_eq!(seen().await, json!([]), "a plain member has no role");
    service.manage(put("/bot/guilds/7/members/1", &json!({"roles": ["71"]}))).await;
    let listed = seen().await;
    assert_eq!((&listed[0]["id"], &listed[0]["role"]), (&json!("7"), &json!("Moderator")));
    assert_eq!(listed[0]["icon"], "https://cdn.example/icons/7.png");
    assert_eq!((&listed[0]["members"], &listed[0]["permissions"]["SETUP"]), (&json!(1200), &json!(true)));
    service.manage(put("/bot/plus/9", &json!({"guilds": ["7", "7"], "slots": 3}))).await;
    let plus = json!({"plus": {"userid": "9", "guilds": ["7"], "slots": 3}, "active": true});
    assert_eq!(seen().await[0]["plus"], plus);
    service.manage(delete("/bot/plus/9")).await;
    assert_eq!(seen().await[0]["plus"]["active"], false);
    service.manage(put("/bot/staff/1", &json!({"permissions": ["BOT_DEVELOPER"]}))).await;
    assert_eq!(seen().await[0]["permissions"]["SUPPORT"], true);
    service.manage(delete("/bot/staff/1")).await;
    assert_eq!(seen().await[0]["permissions"]["SUPPORT"], false);
    service.manage(delete("/bot/guilds/7/members/1")).await;
    assert_eq!(seen().await, json!([]));
    service.manage(put("/bot/guilds/8", &guild())).await;
    assert_eq!(seen().await[0]["role"], "Owner");
    service.manage(delete("/bot/guilds/8")).await;
    assert_eq!(seen().await, json!([]));
}

#[actix_web::test]
async fn feedback_and_the_team_show_at_once() {
    let service = Service::new().await;
    let read = async |path: &str| service.get(path).await.data();
    service.manage(put("/bot/feedback/f", &feedback())).await;
    assert_eq!(read("/feedback").await, json!([feedback()]));
    let mut poor = feedback();
    poor["rating"] = json!(3);
    service.manage(put("/bot/feedback/f", &poor)).await;
    assert_eq!(read("/feedback").await, json!([]));
    service.manage(put("/bot/feedback/f", &feedback())).await;
    service.manage(delete("/bot/feedback/f")).await;
    assert_eq!(read("/feedback").await, json!([]));
    let team = json!([team_member("5", "Support")]);
    service.manage(put("/bot/team", &team)).await;
    assert_eq!(read("/team").await, team);
    service.manage(put("/bot/team", &json!([]))).await;
    assert_eq!(read("/team").await, json!([]));
}

#[actix_web::test]
async fn blocked_users_are_out_at_once_and_may_come_back() {
    let service = Service::new().await;
    let token = service.signed_in(vec![]).await;
    service.manage(TestRequest::put().uri("/bot/blocked/1")).await;
    service.guilds(&token).await.assert_error(403, "blocked");
    service.manage(delete("/bot/blocked/1")).await;
    assert_eq!(service.guilds(&token).await.data(), Value::Array(vec![]));
}

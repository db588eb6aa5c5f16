//! What users are granted by name, what they paid for, and who may not come in.

use super::{
    guild::{Guild, MANAGING},
    stage::{OTHER, Stage, USER},
};
use serde_json::{Value, json};

const GUILD: Guild = Guild(500);

async fn stage_with_owner() -> (Stage, String) {
    let stage = Stage::new().await;
    stage.reports(GUILD, &[]).await;
    let token = stage.arrives(USER, vec![GUILD.joined(true, 0)]).await;
    (stage, token)
}

/// The guild with this on top of what its owner may do.
fn with(granted: &[&str]) -> Value {
    GUILD.shown("Owner", &[&MANAGING, granted].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_granted_by_name_comes_and_goes_with_the_next_answer() {
    let (stage, token) = stage_with_owner().await;
    let followers_of_developers = [
        "EXECUTIVE",
        "WEB_DEVELOPER",
        "SUPPORT",
        "SERVICE_STAFF",
        "QUALITY_ASSURANCE",
        "DOCWRITER",
        "MANAGEMENT",
    ];
    let developer = [["BOT_DEVELOPER"].as_slice(), &followers_of_developers].concat();
    let cases: [(&str, &[&str]); 9] = [
        ("FOUNDER", &["FOUNDER"]),
        ("BOT_DEVELOPER", &developer),
        ("EXECUTIVE", &["EXECUTIVE", "MANAGEMENT"]),
        ("MANAGEMENT", &["MANAGEMENT"]),
        ("WEB_DEVELOPER", &["WEB_DEVELOPER"]),
        ("SUPPORT", &["SUPPORT"]),
        ("SERVICE_STAFF", &["SERVICE_STAFF"]),
        ("QUALITY_ASSURANCE", &["QUALITY_ASSURANCE"]),
        ("DOCWRITER", &["DOCWRITER"]),
    ];
    let path = format!("/bot/staff/{USER}");
    for (named, granted) in cases {
        stage.manage("PUT", &path, &json!({"permissions": [named]}).to_string()).await;
        assert_eq!(stage.shown(&token).await.guilds, [with(granted)], "{named}");
    }
    stage.manage("DELETE", &path, "").await;
    assert_eq!(stage.shown(&token).await.guilds, [with(&[])]);
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_comes_and_goes_with_the_next_answer() {
    let (stage, token) = stage_with_owner().await;
    let subscribed = |user: u64, guilds: &[&str], slots: u64, granted: &[&str]| {
        let mut guild = with(granted);
        let active = granted.contains(&"SERVICE_PLUS_GUILD");
        if active {
            let record = json!({"userid": user.to_string(), "guilds": guilds, "slots": slots});
            guild["plus"] = json!({"plus": record, "active": true});
        }
        guild
    };
    let (own, others) = (format!("/bot/plus/{USER}"), format!("/bot/plus/{OTHER}"));
    // Someone else's subscription makes the guild premium, not the user.
    stage.manage("PUT", &others, r#"{"guilds": ["500"], "slots": 0}"#).await;
    let expected = subscribed(OTHER, &["500"], 0, &["SERVICE_PLUS_GUILD"]);
    assert_eq!(stage.shown(&token).await.guilds, [expected]);
    // Of two that name the guild, the one of the lower user id counts.
    stage.manage("PUT", &own, r#"{"guilds": ["500", "600"], "slots": 2}"#).await;
    let expected = subscribed(USER, &["500", "600"], 2, &["SERVICE_PLUS_GUILD", "SERVICE_PLUS_MEMBER"]);
    assert_eq!(stage.shown(&token).await.guilds, [expected]);
    stage.manage("DELETE", &others, "").await;
    stage.manage("PUT", &own, r#"{"guilds": [], "slots": 1}"#).await;
    assert_eq!(stage.shown(&token).await.guilds, [with(&["SERVICE_PLUS_MEMBER"])]);
    stage.manage("PUT", &own, r#"{"guilds": [], "slots": 0}"#).await;
    assert_eq!(stage.shown(&token).await.guilds, [with(&[])]);
    stage.manage("DELETE", &own, "").await;
    assert_eq!(stage.shown(&token).await.guilds, [with(&[])]);
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_blocked_while_signed_in_is_refused_at_once_and_let_in_again_afterwards() {
    let (stage, token) = stage_with_owner().await;
    let other = stage.arrives(OTHER, vec![GUILD.joined(true, 0)]).await;
    let path = format!("/bot/blocked/{USER}");
    stage.manage("PUT", &path, "").await;
    let refused = stage.ask(&token).await;
    assert_eq!((refused.status, refused.word().as_str()), (403, "blocked"));
    assert_eq!(stage.shown(&other).await.guilds, [with(&[])]);
    stage.manage("DELETE", &path, "").await;
    // It is the session of before: a block is no sign-out.
    assert_eq!(stage.shown(&token).await.guilds, [with(&[])]);
    stage.stop().await;
}

//! What the platform gives: ownership, Administrator, Manage Server.

use super::{
    guild::{Guild, MANAGING},
    stage::{ALMOST, MOMENT, OTHER, Stage, USER},
};

const ADMINISTRATOR: u64 = 1 << 3;
const MANAGE_SERVER: u64 = 1 << 5;
const GUILD: Guild = Guild(500);

/// Everything that the user is shown who has this in the one guild there is.
async fn shown_to(owner: bool, permissions: u64) -> Vec<serde_json::Value> {
    let stage = Stage::new().await;
    stage.reports(GUILD, &[]).await;
    let token = stage.arrives(USER, vec![GUILD.joined(owner, permissions)]).await;
    let shown = stage.shown(&token).await.guilds;
    stage.stop().await;
    shown
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_is_owner_and_may_manage() {
    assert_eq!(shown_to(true, 0).await, [GUILD.shown("Owner", &MANAGING)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn administrator_alone_makes_a_manager() {
    assert_eq!(shown_to(false, ADMINISTRATOR).await, [GUILD.shown("Manager", &MANAGING)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn manage_server_alone_makes_a_manager() {
    assert_eq!(shown_to(false, MANAGE_SERVER).await, [GUILD.shown("Manager", &MANAGING)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn permissions_beyond_32_bits_are_read_to_the_last() {
    // All that there is but those two, and then one of them: neither a lost bit nor a wrapped one shows.
    let all_others = !(ADMINISTRATOR | MANAGE_SERVER);
    assert!(shown_to(false, all_others).await.is_empty());
    assert_eq!(shown_to(false, (1 << 50) | MANAGE_SERVER).await, [GUILD.shown("Manager", &MANAGING)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_member_is_not_shown_the_guild_whatever_else_they_are() {
    let stage = Stage::new().await;
    stage.reports(GUILD, &[("MOD", 7)]).await;
    stage.reports_member(GUILD, USER, &[8]).await;
    stage
        .manage("PUT", &format!("/bot/staff/{USER}"), r#"{"permissions": ["FOUNDER", "BOT_DEVELOPER"]}"#)
        .await;
    stage.manage("PUT", &format!("/bot/plus/{USER}"), r#"{"guilds": ["500"], "slots": 3}"#).await;
    let token = stage.arrives(USER, vec![GUILD.joined(false, 1 << 40)]).await;
    assert!(stage.shown(&token).await.guilds.is_empty());
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ownership_that_is_handed_over_shows_on_both_sides_within_the_minute() {
    let stage = Stage::new().await;
    stage.reports(GUILD, &[]).await;
    let old = stage.arrives(USER, vec![GUILD.joined(true, 0)]).await;
    let new = stage.arrives(OTHER, vec![GUILD.joined(false, MANAGE_SERVER)]).await;
    stage.control.set_guilds(USER, vec![GUILD.joined(false, ADMINISTRATOR)]);
    stage.control.set_guilds(OTHER, vec![GUILD.joined(true, 0)]);
    stage.pass(ALMOST);
    assert_eq!(stage.shown(&old).await.guilds, [GUILD.shown("Owner", &MANAGING)]);
    assert_eq!(stage.shown(&new).await.guilds, [GUILD.shown("Manager", &MANAGING)]);
    stage.pass(MOMENT);
    assert_eq!(stage.shown_afresh(&old).await.guilds, [GUILD.shown("Manager", &MANAGING)]);
    assert_eq!(stage.shown_afresh(&new).await.guilds, [GUILD.shown("Owner", &MANAGING)]);
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_right_that_the_platform_takes_away_is_gone_within_the_minute() {
    let stage = Stage::new().await;
    stage.reports(GUILD, &[]).await;
    let token = stage.arrives(USER, vec![GUILD.joined(false, MANAGE_SERVER)]).await;
    stage.control.set_guilds(USER, vec![GUILD.joined(false, 0)]);
    stage.pass(ALMOST);
    assert_eq!(stage.shown(&token).await.guilds, [GUILD.shown("Manager", &MANAGING)]);
    stage.pass(MOMENT);
    assert!(stage.shown_afresh(&token).await.guilds.is_empty());
    stage.stop().await;
}

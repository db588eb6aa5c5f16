//! Which guilds there are: the platform's list met with the bot's.

use super::{
    guild::{Guild, MANAGING},
    stage::{ALMOST, MOMENT, Stage, USER},
};
use companion_dev_identity::Route;
use serde_json::json;

const STAYS: Guild = Guild(500);
const CHANGES: Guild = Guild(501);

#[tokio::test(flavor = "multi_thread")]
async fn a_guild_that_the_user_left_is_gone_within_the_minute_and_not_before() {
    let stage = Stage::new().await;
    for guild in [STAYS, CHANGES] {
        stage.reports(guild, &[]).await;
    }
    let token = stage.arrives(USER, [STAYS, CHANGES].map(|guild| guild.joined(true, 0)).into()).await;
    stage.control.set_guilds(USER, vec![STAYS.joined(true, 0)]);
    stage.pass(ALMOST);
    let both = [STAYS, CHANGES].map(|guild| guild.shown("Owner", &MANAGING));
    assert_eq!(stage.shown(&token).await.guilds, both);
    stage.pass(MOMENT);
    assert_eq!(stage.shown_afresh(&token).await.guilds, both[..1]);
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guild_that_the_user_joined_is_there_within_the_minute() {
    let stage = Stage::new().await;
    for guild in [STAYS, CHANGES] {
        stage.reports(guild, &[("MOD", 71)]).await;
    }
    stage.reports_member(CHANGES, USER, &[71]).await;
    let token = stage.arrives(USER, vec![STAYS.joined(true, 0)]).await;
    stage.control.set_guilds(USER, vec![CHANGES.joined(false, 0), STAYS.joined(true, 0)]);
    let before = [STAYS.shown("Owner", &MANAGING)];
    assert_eq!(stage.shown(&token).await.guilds, before);
    stage.pass(ALMOST + MOMENT);
    let after = [STAYS.shown("Owner", &MANAGING), CHANGES.shown("Moderator", &["MOD"])];
    assert_eq!(stage.shown_afresh(&token).await.guilds, after);
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guild_that_the_bot_joins_or_leaves_shows_in_the_next_answer_without_a_call() {
    let stage = Stage::new().await;
    stage.reports(STAYS, &[]).await;
    let token = stage.arrives(USER, [STAYS, CHANGES].map(|guild| guild.joined(true, 0)).into()).await;
    let calls = stage.control.all_calls();
    let both = [STAYS, CHANGES].map(|guild| guild.shown("Owner", &MANAGING));
    assert_eq!(stage.shown(&token).await.guilds, both[..1]);
    stage.reports(CHANGES, &[]).await;
    assert_eq!(stage.shown(&token).await.guilds, both);
    stage.reports_departure(STAYS).await;
    assert_eq!(stage.shown(&token).await.guilds, both[1..]);
    assert_eq!(stage.control.all_calls(), calls);
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn set_up_and_linked_follow_the_bot_in_the_next_answer() {
    let stage = Stage::new().await;
    stage.reports(STAYS, &[]).await;
    let token = stage.arrives(USER, vec![STAYS.joined(true, 0)]).await;
    for (setup, linked) in [(true, false), (false, true), (true, true), (false, false)] {
        let mut reported = STAYS.reported(&[]);
        (reported["setup"], reported["linked"]) = (setup.into(), linked.into());
        stage.manage("PUT", "/bot/guilds/500", &reported.to_string()).await;
        let mut granted = MANAGING.to_vec();
        granted.extend(["SETUP"].iter().filter(|_| setup));
        granted.extend(["ERLC_LINKED"].iter().filter(|_| linked));
        assert_eq!(stage.shown(&token).await.guilds, [STAYS.shown("Owner", &granted)]);
    }
    stage.stop().await;
}

/// A user who owns so many guilds is shown all of them, and the platform was asked for so many pages.
async fn owns(count: u64, pages: u64) {
    let stage = Stage::new().await;
    let guilds: Vec<_> = (1..=count).map(|number| Guild(number << 22)).collect();
    let lines: String = guilds
        .iter()
        .map(|guild| {
            let mut line = guild.reported(&[]);
            (line["kind"], line["id"]) = (json!("guild"), json!(guild.0.to_string()));
            (line["name"], line["members"]) = (json!(format!("{:05}", guild.0 >> 22)), json!(1));
            format!("{line}\n")
        })
        .collect();
    stage.manage("POST", "/bot/sync", &lines).await;
    let token = stage.arrives(USER, guilds.iter().map(|guild| guild.joined(true, 0)).collect()).await;
    assert_eq!(stage.control.calls(Route::Guilds), pages);
    let expected: Vec<_> = (1..=count).map(|number| format!("{number:05}")).collect();
    assert_eq!(stage.shown(&token).await.names(), expected);
    stage.pass(ALMOST + MOMENT);
    let shown = stage.shown_afresh(&token).await;
    assert_eq!(shown.names(), expected);
    assert!(shown.guilds.iter().all(|guild| guild["role"] == "Owner"));
    assert_eq!(stage.control.calls(Route::Guilds), 2 * pages);
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_in_two_hundred_guilds_is_shown_all_of_them() {
    // A full page may be the last one, or not: only asking tells.
    owns(200, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_in_more_guilds_than_fit_on_a_page_is_shown_all_of_them() {
    owns(199, 1).await;
    owns(201, 2).await;
    owns(450, 3).await;
}

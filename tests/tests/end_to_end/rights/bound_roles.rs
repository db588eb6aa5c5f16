//! What the bot's role bindings give. All of it shows in the very next answer.

use super::{
    guild::Guild,
    stage::{Stage, USER},
};

/// Each key of a binding: the role that it makes, where it makes one, and what follows from it.
const FOLLOWS: [(&str, Option<&str>, &[&str]); 6] = [
    ("MOD", Some("Moderator"), &["MOD"]),
    ("ADMIN", Some("Administrator"), &["ADMIN", "MOD"]),
    ("ERLC_STAFF", Some("Moderator"), &["ERLC_STAFF"]),
    ("ERLC_ADMIN", Some("Administrator"), &["ERLC_ADMIN", "ERLC_STAFF"]),
    ("ERLC_MANAGER", Some("Manager"), &["ERLC_MANAGER", "ERLC_ADMIN", "ERLC_STAFF"]),
    // Someone who may start sessions and nothing else has none of the four roles.
    ("SESSION_STARTER", None, &["SESSION_STARTER"]),
];
const GUILD: Guild = Guild(500);

async fn stage_with_member(roles: &[(&str, u64)]) -> (Stage, String) {
    let stage = Stage::new().await;
    stage.reports(GUILD, roles).await;
    let token = stage.arrives(USER, vec![GUILD.joined(false, 0)]).await;
    assert!(stage.shown(&token).await.guilds.is_empty());
    (stage, token)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_bound_role_gives_what_follows_from_it_and_nothing_else() {
    let bindings: Vec<_> = FOLLOWS.iter().zip(70..).map(|((key, ..), role)| (*key, role)).collect();
    let (stage, token) = stage_with_member(&bindings).await;
    for ((key, role, granted), (_, bound)) in FOLLOWS.iter().zip(&bindings) {
        stage.reports_member(GUILD, USER, &[*bound]).await;
        let expected: Vec<_> = role.iter().map(|role| GUILD.shown(role, granted)).collect();
        assert_eq!(stage.shown(&token).await.guilds, expected, "{key}");
    }
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_add_up_and_the_strongest_names_the_user() {
    let bindings =
        [("MOD", 71), ("SESSION_STARTER", 72), ("ERLC_ADMIN", 73), ("ADMIN", 74), ("ERLC_MANAGER", 75)];
    let (stage, token) = stage_with_member(&bindings).await;
    let shown = async |roles: &[u64]| {
        stage.reports_member(GUILD, USER, roles).await;
        stage.shown(&token).await.guilds
    };
    assert_eq!(shown(&[71, 72]).await, [GUILD.shown("Moderator", &["MOD", "SESSION_STARTER"])]);
    let administrator = ["MOD", "ERLC_ADMIN", "ERLC_STAFF"];
    assert_eq!(shown(&[71, 73]).await, [GUILD.shown("Administrator", &administrator)]);
    let all = ["MOD", "ADMIN", "SESSION_STARTER", "ERLC_MANAGER", "ERLC_ADMIN", "ERLC_STAFF"];
    assert_eq!(shown(&[71, 72, 73, 74, 75]).await, [GUILD.shown("Manager", &all)]);
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_the_bot_takes_away_is_gone_in_the_next_answer() {
    let (stage, token) = stage_with_member(&[("ADMIN", 71), ("MOD", 72)]).await;
    stage.reports_member(GUILD, USER, &[71, 72]).await;
    assert_eq!(stage.shown(&token).await.guilds, [GUILD.shown("Administrator", &["ADMIN", "MOD"])]);
    stage.reports_member(GUILD, USER, &[72]).await;
    assert_eq!(stage.shown(&token).await.guilds, [GUILD.shown("Moderator", &["MOD"])]);
    stage.manage("DELETE", &format!("/bot/guilds/500/members/{USER}"), "").await;
    assert!(stage.shown(&token).await.guilds.is_empty());
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binding_that_is_taken_away_is_gone_in_the_next_answer() {
    let (stage, token) = stage_with_member(&[("ADMIN", 71), ("MOD", 71)]).await;
    stage.reports_member(GUILD, USER, &[71]).await;
    assert_eq!(stage.shown(&token).await.guilds, [GUILD.shown("Administrator", &["ADMIN", "MOD"])]);
    stage.reports(GUILD, &[("MOD", 71)]).await;
    assert_eq!(stage.shown(&token).await.guilds, [GUILD.shown("Moderator", &["MOD"])]);
    stage.reports(GUILD, &[("MOD", 99)]).await;
    assert!(stage.shown(&token).await.guilds.is_empty());
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_counts_only_in_the_guild_that_binds_it() {
    let stage = Stage::new().await;
    let elsewhere = Guild(501);
    stage.reports(GUILD, &[("MOD", 71)]).await;
    stage.reports(elsewhere, &[("MOD", 72)]).await;
    for guild in [GUILD, elsewhere] {
        stage.reports_member(guild, USER, &[71]).await;
    }
    let token = stage.arrives(USER, [GUILD, elsewhere].map(|guild| guild.joined(false, 0)).into()).await;
    assert_eq!(stage.shown(&token).await.guilds, [GUILD.shown("Moderator", &["MOD"])]);
    stage.stop().await;
}

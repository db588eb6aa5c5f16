//! An operator is told what a user is shown of a guild, and why.

use crate::use_cases::{GUILD, HOUR, MINUTE, Stage, USER};
use companion_domain::{
    model::{Guild, Membership, PlatformPermissions, RoleBindings, RoleKey, StaffGrant, StaffGrants},
    policy::{Fact, GuildRole, Permission, Source},
    port::{IdentityErrorKind, Record},
    rules::NotListed,
    usecase::{Explanation, LastList},
};
use companion_storage_memory::IdentityCall;
use companion_testkit::{
    use_cases::{Settings, settings},
    world::{a_guild, a_member, a_membership, a_subscription, an_ownership, guild_id, roles, user_id},
};
use std::time::Duration;

impl Stage {
    async fn why(&self) -> Explanation {
        self.use_cases.explain.explain(user_id(USER), guild_id(GUILD)).await.unwrap()
    }

    /// [`GUILD`] has the bot, which binds role 9 to `MOD`.
    async fn has_bot(&self) {
        let bindings = RoleBindings::new([(RoleKey::Mod, roles(&[9]))]);
        self.use_cases.feed.records.put(Record::Guild(Guild { bindings, ..a_guild(GUILD) })).await.unwrap();
    }
}

fn obstacles(explanation: &Explanation) -> &[NotListed] {
    explanation.verdict.listed.as_ref().unwrap_err()
}

#[tokio::test]
async fn a_listed_guild_is_explained_as_it_is_listed() {
    let manager = Membership { permissions: PlatformPermissions::from_bits(1 << 5), ..a_membership(GUILD) };
    for (membership, role) in [
        (an_ownership(GUILD), GuildRole::Owner),
        (manager, GuildRole::Manager),
        (a_membership(GUILD), GuildRole::Moderator),
    ] {
        let stage = Stage::new();
        stage.has_bot().await;
        stage.use_cases.feed.records.put(Record::Member(a_member(GUILD, USER, &[9]))).await.unwrap();
        stage.use_cases.feed.records.put(Record::Subscription(a_subscription(77, &[GUILD]))).await.unwrap();
        stage.use_cases.feed.records.put(Record::Subscription(a_subscription(78, &[GUILD]))).await.unwrap();
        stage.signs_in(USER, vec![a_membership(GUILD + 1), membership]).await;
        let explanation = stage.why().await;
        let [listed] = &stage.use_cases.list_guilds.list(user_id(USER)).await.unwrap().guilds()[..] else {
            panic!("it is listed once")
        };
        assert_eq!(explanation.verdict.listed, Ok(role));
        assert_eq!(listed.role, role);
        assert_eq!(explanation.verdict.decision.permissions(), listed.permissions);
        assert_eq!(explanation.plus, listed.plus);
        assert_eq!(explanation.plus.unwrap().user, user_id(77));
        assert_eq!(explanation.membership, Some(membership));
        assert_eq!(*explanation.seen.unwrap().roles, roles(&[9]));
    }
}

#[tokio::test]
async fn a_permission_is_followed_down_to_a_fact() {
    let stage = Stage::new();
    stage.has_bot().await;
    stage.signs_in(USER, vec![an_ownership(GUILD)]).await;
    assert_eq!(
        stage.why().await.verdict.decision.why(Permission::Mod),
        [
            Source::Implied(Permission::Admin),
            Source::Implied(Permission::ManageServer),
            Source::Fact(Fact::OwnsGuild)
        ]
    );
}

#[tokio::test]
async fn a_user_who_never_signed_in_is_told_apart_from_one_without_a_list() {
    let stage = Stage::new();
    stage.has_bot().await;
    let stranger = stage.why().await;
    assert_eq!((obstacles(&stranger), stranger.list), (&[NotListed::NotSignedIn][..], None));

    stage.memory.identity.fail_with(IdentityCall::Guilds, Some(IdentityErrorKind::TimedOut));
    stage.signs_in(USER, vec![an_ownership(GUILD)]).await;
    let without = stage.why().await;
    assert_eq!((obstacles(&without), without.list), (&[NotListed::WithoutList][..], None));
}

#[tokio::test]
async fn the_side_that_does_not_know_the_guild_is_named() {
    let stage = Stage::new();
    stage.signs_in(USER, vec![an_ownership(GUILD)]).await;
    assert_eq!(obstacles(&stage.why().await), [NotListed::WithoutBot]);
    stage.has_bot().await;
    assert_eq!(stage.why().await.verdict.listed, Ok(GuildRole::Owner));
    stage.signs_in(USER, vec![an_ownership(GUILD + 1)]).await;
    assert_eq!(obstacles(&stage.why().await), [NotListed::NotAMember]);
}

#[tokio::test]
async fn a_plain_member_is_told_so_whatever_was_granted_by_name() {
    let stage = Stage::new();
    stage.has_bot().await;
    let staff: StaffGrants = [StaffGrant::BotDeveloper].into_iter().collect();
    stage.use_cases.feed.records.put(Record::Staff(user_id(USER), staff)).await.unwrap();
    stage.signs_in(USER, vec![a_membership(GUILD)]).await;
    let explanation = stage.why().await;
    assert_eq!(obstacles(&explanation), [NotListed::PlainMember]);
    assert!(explanation.verdict.decision.permissions().contains(Permission::Support));
    assert_eq!(explanation.user.staff, staff);
}

#[tokio::test]
async fn every_obstacle_is_told_at_once() {
    let stage = Stage::new();
    stage.use_cases.feed.records.put(Record::Blocked(user_id(USER))).await.unwrap();
    let expected = [NotListed::Blocked, NotListed::NotSignedIn, NotListed::WithoutBot];
    assert_eq!(obstacles(&stage.why().await), expected);
}

#[tokio::test]
async fn a_blocked_owner_is_only_kept_out_by_the_block() {
    let stage = Stage::new();
    stage.signed_in().await;
    stage.use_cases.feed.records.put(Record::Blocked(user_id(USER))).await.unwrap();
    let explanation = stage.why().await;
    assert_eq!(obstacles(&explanation), [NotListed::Blocked]);
    assert!(explanation.verdict.decision.permissions().contains(Permission::ManageServer));
}

#[tokio::test]
async fn what_is_known_without_the_platform_and_the_bot_still_counts() {
    let stage = Stage::new();
    stage.use_cases.feed.records.put(Record::Subscription(a_subscription(USER, &[GUILD]))).await.unwrap();
    let granted: Vec<_> = stage.why().await.verdict.decision.permissions().iter().collect();
    assert_eq!(granted, [Permission::ServicePlusGuild, Permission::ServicePlusMember]);
}

#[tokio::test]
async fn the_age_of_the_list_is_told_and_nobody_is_asked_for_a_newer_one() {
    for keep_tokens in [true, false] {
        let stage = Stage::with(Settings { keep_tokens, ..settings() });
        stage.signed_in().await;
        let fresh = LastList { guilds: 1, age: Duration::ZERO, renewable: keep_tokens };
        assert_eq!(stage.why().await.list, Some(fresh));
        stage.memory.clock.advance(HOUR + MINUTE);
        assert_eq!(stage.why().await.list, Some(LastList { age: HOUR + MINUTE, ..fresh }));
        assert_eq!(stage.memory.identity.calls(IdentityCall::Guilds), 1);
    }
}

//! Public data, silent clusters, and the explanation of a user's listing for operators.

use crate::use_cases::{GUILD, HOUR, MINUTE, SECOND, Stage, USER};
use companion_domain::{
    change::{Change, Revision, Subject},
    model::{
        Guild, Heartbeat, Membership, PlatformPermissions, RoleBindings, RoleKey, Roster, Shards, Span,
        Timestamp,
    },
    policy::GuildRole,
    port::{ChangeBatch, Clock as _, IdentityErrorKind, Mutation, Record, Records},
    rules::NotListed,
    usecase::{ClusterCount, Clusters, Explanation, LastList, ReportStatus},
};
use companion_storage_memory::{IdentityCall, MemoryStorage};
use companion_testkit::{
    clock::FixedClock,
    use_cases::{Settings, settings},
    world::{
        a_feedback, a_guild, a_heartbeat, a_member, a_membership, a_subscription, a_team_member,
        an_ownership, guild_id, name, roles, user_id,
    },
};
use std::{collections::HashSet, sync::Arc, time::Duration};

#[tokio::test]
async fn shows_five_positive_entries_or_all_if_fewer() {
    let stage = Stage::new();
    for (number, stars) in [1, 2, 3, 4, 5, 4, 5].into_iter().enumerate() {
        stage.put(Record::Feedback(a_feedback(&format!("f{number}"), stars))).await;
    }
    let picked = stage.use_cases.pick_feedback.pick().await.unwrap();
    let ids: HashSet<_> = picked.iter().map(|feedback| feedback.id.as_str()).collect();
    assert_eq!(ids, HashSet::from(["f3", "f4", "f5", "f6"]));
    for number in 10..20 {
        stage.put(Record::Feedback(a_feedback(&format!("f{number}"), 5))).await;
    }
    assert_eq!(stage.use_cases.pick_feedback.pick().await.unwrap().len(), 5);
}

#[tokio::test]
async fn shows_the_team_in_the_configured_order() {
    let stage = Stage::with(Settings { categories: vec![name("Support"), name("Board")], ..settings() });
    let members = vec![
        a_team_member(1, "Art", 0),
        a_team_member(2, "Board", 0),
        a_team_member(3, "Support", 2),
        a_team_member(4, "Support", 1),
    ];
    stage.use_cases.feed.records.write(Mutation::ReplaceTeam(Roster::new(members).unwrap())).await.unwrap();
    let team = stage.use_cases.show_team.show().await.unwrap();
    assert_eq!(team.iter().map(|member| member.user.id.get()).collect::<Vec<_>>(), [4, 3, 2, 1]);
}

fn news_of(clusters: &[&str]) -> ChangeBatch {
    let change = |cluster: &&str| Change {
        revision: Revision(1),
        subject: Subject::Cluster(cluster.parse().unwrap()),
    };
    ChangeBatch::Changes(clusters.iter().map(change).collect())
}

fn silence(clusters: &Clusters, clock: &FixedClock) -> Vec<Duration> {
    clusters.last_heard(clock.monotonic()).map(|heard| heard.silent_for).collect()
}

#[test]
fn reports_before_the_start_count_by_their_date() {
    let clock = FixedClock::default();
    let report = |name, received_at| Arc::new(a_heartbeat(name, received_at));
    let reports = vec![
        report("past", clock.now().before(40 * SECOND)),
        report("skewed", clock.now().after(240 * SECOND)),
        report("ahead", clock.now().after(HOUR)),
    ];
    let clusters = Clusters::after(None, reports.clone(), &ChangeBatch::Everything, &clock);
    assert_eq!(silence(&clusters, &clock), [40 * SECOND, Duration::ZERO, Timestamp::LONG_AGO]);
    clock.set(clock.now().before(HOUR));
    clock.advance(SECOND);
    assert_eq!(silence(&clusters, &clock), [41 * SECOND, SECOND, Timestamp::LONG_AGO + SECOND]);
    // After a gap the same reports are no newer than before, whatever the clock shows.
    let again = Clusters::after(Some(&clusters), reports, &ChangeBatch::Everything, &clock);
    assert_eq!(silence(&again, &clock), [41 * SECOND, SECOND, Timestamp::LONG_AGO + SECOND]);
}

#[test]
fn a_changed_cluster_counts_as_just_reported() {
    let clock = FixedClock::default();
    let one = Arc::new(a_heartbeat("one", clock.now()));
    let other = Arc::new(a_heartbeat("other", clock.now().after(HOUR)));
    let clusters = Clusters::after(None, vec![one.clone()], &news_of(&["one"]), &clock);
    clock.advance(30 * SECOND);
    let clusters = Clusters::after(Some(&clusters), vec![one, other], &news_of(&["other"]), &clock);
    assert_eq!(silence(&clusters, &clock), [30 * SECOND, Duration::ZERO]);
}

#[test]
fn silence_counts_only_after_the_cluster_was_watched() {
    let clock = FixedClock::default();
    let names = |clusters: &Clusters| {
        let silent = clusters.silent(24 * HOUR, 90 * SECOND, clock.monotonic());
        silent.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>()
    };
    let report = |name, received_at| Arc::new(a_heartbeat(name, received_at));
    let (ahead, old) = (clock.now().after(HOUR), clock.now().before(23 * HOUR));
    let reports = vec![report("ahead", ahead), report("old", old), report("new", clock.now())];
    let clusters = Clusters::after(None, reports, &ChangeBatch::Everything, &clock);
    assert_eq!(names(&clusters), [""; 0]);
    clock.advance(90 * SECOND);
    assert_eq!(names(&clusters), ["ahead"]);
    clock.advance(HOUR - 90 * SECOND);
    assert_eq!(names(&clusters), ["ahead", "old"]);
    clock.set(clock.now().after(365 * 24 * HOUR));
    assert_eq!(names(&clusters), ["ahead", "old"]);
    clock.advance(23 * HOUR);
    assert_eq!(names(&clusters), ["ahead", "old", "new"]);
}

#[tokio::test]
async fn counts_silent_and_live_clusters() {
    let (clock, storage) = (Arc::new(FixedClock::default()), Arc::new(MemoryStorage::new()));
    let status = ReportStatus {
        telemetry: storage.clone(),
        history: storage.clone(),
        guilds: storage.clone(),
        clock: clock.clone(),
        silent_after: Span::from_seconds(90),
    };
    let clusters = status.clusters(None, &ChangeBatch::Everything).await.unwrap();
    assert_eq!(status.count(&clusters), ClusterCount::default());
    for (name, age) in [("one", 10), ("other", 80)] {
        let received = clock.now().before(age * SECOND);
        let report = Heartbeat { shards: Shards::default(), ..a_heartbeat(name, received) };
        storage.write(Mutation::Report(report)).await.unwrap();
    }
    let clusters = status.clusters(None, &ChangeBatch::Everything).await.unwrap();
    let count = |live, silent, last| ClusterCount { live, silent, last_heard: Some(last * SECOND) };
    assert_eq!(status.count(&clusters), count(2, 0, 10));
    clock.advance(10 * SECOND);
    assert_eq!(status.count(&clusters), count(1, 1, 20));
}

impl Stage {
    async fn why(&self) -> Explanation {
        self.use_cases.explain.explain(user_id(USER), guild_id(GUILD)).await.unwrap()
    }

    /// Puts [`GUILD`], where the bot binds role 9 to `MOD`.
    async fn has_bot(&self) {
        let bindings = RoleBindings::new([(RoleKey::Mod, roles(&[9]))]);
        self.put(Record::Guild(Guild { bindings, ..a_guild(GUILD) })).await;
    }
}

fn obstacles(explanation: &Explanation) -> &[NotListed] {
    explanation.verdict.listed.as_ref().unwrap_err()
}

#[tokio::test]
async fn explains_a_listed_guild_as_listed() {
    let manager = Membership { permissions: PlatformPermissions::from_bits(1 << 5), ..a_membership(GUILD) };
    for (membership, role) in [
        (an_ownership(GUILD), GuildRole::Owner),
        (manager, GuildRole::Manager),
        (a_membership(GUILD), GuildRole::Moderator),
    ] {
        let stage = Stage::new();
        stage.has_bot().await;
        stage.put(Record::Member(a_member(GUILD, USER, &[9]))).await;
        stage.put(Record::Subscription(a_subscription(77, &[GUILD]))).await;
        stage.put(Record::Subscription(a_subscription(78, &[GUILD]))).await;
        stage.signs_in(USER, vec![a_membership(GUILD + 1), membership]).await;
        let explanation = stage.why().await;
        let [listed] = &stage.list().await.unwrap().guilds()[..] else { panic!("it is listed once") };
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
async fn distinguishes_never_signed_in_from_no_list() {
    let stage = Stage::new();
    stage.has_bot().await;
    let unknown = stage.why().await;
    assert_eq!((obstacles(&unknown), unknown.list), (&[NotListed::NotSignedIn][..], None));

    stage.memory.identity.fail_with(IdentityCall::Guilds, Some(IdentityErrorKind::TimedOut));
    stage.signs_in(USER, vec![an_ownership(GUILD)]).await;
    let without = stage.why().await;
    assert_eq!((obstacles(&without), without.list), (&[NotListed::WithoutList][..], None));
}

#[tokio::test]
async fn reports_the_age_of_the_list_without_a_refresh() {
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

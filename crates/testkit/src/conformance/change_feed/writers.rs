//! Which writes are listed as changes, and which are not.

use super::{
    history::subjects_of,
    many::{one_of_each, sync},
};
use crate::conformance::{
    Fresh, Stores,
    sample::{
        NONE_OVER, TEN, at, cluster_id, feedback, feedback_id, grant, guild, guild_id, heartbeat, member,
        session, staff, subscription, team_member, token_hash, user_id,
    },
    stream::Stream,
};
use companion_domain::{
    change::{Key, Kind, Subject},
    model::{Roster, StaffPermission},
    port::{ClaimAfter, GrantVersion, Mutation, Record, Replace},
    session::{Cutoffs, Uses},
};
use std::num::NonZeroU32;

const ALL_OVER: Cutoffs = Cutoffs { created: at(1_000_000), seen: at(1_000_000), ..NONE_OVER };

/// Whether exactly these subjects are listed, each once, in any order.
fn exactly(mut subjects: Vec<Subject>, expected: &[Subject]) -> bool {
    for subject in expected {
        match subjects.iter().position(|one| one == subject) {
            Some(index) => {
                subjects.remove(index);
            }
            None => return false,
        }
    }
    subjects.is_empty()
}

pub(super) async fn lists_changes_of_guilds_and_members(fresh: &Fresh<Stores>) {
    let (id, user) = (guild_id(1), user_id(5));
    let (guild_subjects, member_subjects) = ([Subject::Guild(id)], [Subject::Member(id, user)]);
    let put = async |stores: &Stores| stores.records.put(Record::Guild(guild(id))).await.unwrap();
    assert_eq!(subjects_of(fresh, put).await, guild_subjects);
    let put_member =
        async |stores: &Stores| stores.records.put(Record::Member(member(id, user, &[1]))).await.unwrap();
    assert_eq!(subjects_of(fresh, put_member).await, member_subjects);
    let change =
        async |stores: &Stores| stores.records.put(Record::Member(member(id, user, &[2]))).await.unwrap();
    assert_eq!(subjects_of(fresh, change).await, member_subjects);
    let remove_member = async |stores: &Stores| stores.records.remove(Key::Member(id, user)).await.unwrap();
    assert_eq!(subjects_of(fresh, remove_member).await, member_subjects);
    fresh.one.records.put(Record::Member(member(id, user, &[1]))).await.unwrap();
    let remove = async |stores: &Stores| stores.records.remove(Key::Guild(id)).await.unwrap();
    let gone = subjects_of(fresh, remove).await;
    // The adapter may list the members too: the removed guild implies them.
    assert_eq!(gone.iter().filter(|subject| **subject == Subject::Guild(id)).count(), 1, "{gone:?}");
    assert!(
        gone.iter().all(|subject| [&guild_subjects[0], &member_subjects[0]].contains(&subject)),
        "{gone:?}"
    );
}

pub(super) async fn lists_changes_of_subscriptions_staff_and_blocks(fresh: &Fresh<Stores>) {
    let user = user_id(5);
    for guilds in [vec![1], vec![2]] {
        let put = async |stores: &Stores| {
            stores.records.put(Record::Subscription(subscription(user, guilds, 1))).await.unwrap()
        };
        assert_eq!(subjects_of(fresh, put).await, [Subject::Subscription(user)]);
    }
    let remove = async |stores: &Stores| stores.records.remove(Key::Subscription(user)).await.unwrap();
    assert_eq!(subjects_of(fresh, remove).await, [Subject::Subscription(user)]);
    for granted in [StaffPermission::Support, StaffPermission::Founder] {
        let put =
            async |stores: &Stores| stores.records.put(Record::Staff(user, staff([granted]))).await.unwrap();
        assert_eq!(subjects_of(fresh, put).await, [Subject::Staff(user)]);
    }
    let remove = async |stores: &Stores| stores.records.remove(Key::Staff(user)).await.unwrap();
    assert_eq!(subjects_of(fresh, remove).await, [Subject::Staff(user)]);
    let block = async |stores: &Stores| stores.records.put(Record::Blocked(user)).await.unwrap();
    assert_eq!(subjects_of(fresh, block).await, [Subject::Blocked(user)]);
    let unblock = async |stores: &Stores| stores.records.remove(Key::Blocked(user)).await.unwrap();
    assert_eq!(subjects_of(fresh, unblock).await, [Subject::Blocked(user)]);
}

pub(super) async fn lists_changes_of_feedback_team_and_clusters(fresh: &Fresh<Stores>) {
    let subjects = [Subject::Feedback(feedback_id("one"))];
    for stars in [5, 2] {
        let put = async |stores: &Stores| {
            stores.records.put(Record::Feedback(feedback("one", stars, user_id(1)))).await.unwrap()
        };
        assert_eq!(subjects_of(fresh, put).await, subjects);
    }
    let remove =
        async |stores: &Stores| stores.records.remove(Key::Feedback(feedback_id("one"))).await.unwrap();
    assert_eq!(subjects_of(fresh, remove).await, subjects);
    let team =
        Roster::new(vec![team_member(user_id(1), "Core", 1), team_member(user_id(2), "Core", 1)]).unwrap();
    for roster in [team, Roster::default()] {
        let replace = async |stores: &Stores| {
            stores.records.write(Mutation::ReplaceTeam(roster.clone())).await.unwrap()
        };
        assert_eq!(
            subjects_of(fresh, replace).await,
            [Subject::Many(Kind::Team)],
            "one change, however many places"
        );
    }
    let cluster = [Subject::Cluster(cluster_id("one"))];
    for time in [0, 1] {
        let record = async |stores: &Stores| {
            stores.records.write(Mutation::Report(heartbeat("one", at(time)))).await.unwrap()
        };
        assert_eq!(subjects_of(fresh, record).await, cluster);
    }
    let forget = async |stores: &Stores| {
        stores.records.write(Mutation::RemoveSilent([(cluster_id("one"), at(1))].to_vec())).await.unwrap()
    };
    assert_eq!(subjects_of(fresh, forget).await, cluster);
}

pub(super) async fn lists_created_and_ended_sessions(fresh: &Fresh<Stores>) {
    let user = user_id(1);
    let about = |number| Subject::Session(token_hash(number));
    for number in 1..=3 {
        let create = async |stores: &Stores| {
            let made = session(number, user, at(i64::try_from(number).unwrap()));
            stores.sessions.create(&made, TEN, NONE_OVER).await.unwrap();
        };
        assert_eq!(subjects_of(fresh, create).await, [about(number)]);
    }
    let exceed = async |stores: &Stores| {
        let cap = NonZeroU32::new(3).unwrap();
        stores.sessions.create(&session(4, user, at(4)), cap, NONE_OVER).await.unwrap();
    };
    assert!(
        exactly(subjects_of(fresh, exceed).await, &[about(1), about(4)]),
        "the one that had to go is told of, too"
    );
    let revoke = async |stores: &Stores| stores.sessions.revoke(&token_hash(2)).await.unwrap();
    assert_eq!(subjects_of(fresh, revoke).await, [about(2)]);
    let revoke_all = async |stores: &Stores| stores.sessions.revoke_user(user).await.unwrap();
    assert!(exactly(subjects_of(fresh, revoke_all).await, &[about(3), about(4)]));
    for number in [5, 6] {
        fresh.one.sessions.create(&session(number, user, at(5)), TEN, NONE_OVER).await.unwrap();
    }
    let prune = async |stores: &Stores| stores.sessions.prune(ALL_OVER, TEN).await.unwrap();
    assert!(exactly(subjects_of(fresh, prune).await, &[about(5), about(6)]));
    fresh.one.sessions.create(&session(7, user, at(5)), TEN, NONE_OVER).await.unwrap();
    let expire = async |stores: &Stores| stores.sessions.expire(&token_hash(7), ALL_OVER).await.unwrap();
    assert_eq!(subjects_of(fresh, expire).await, [about(7)]);
    fresh.one.sessions.create(&session(8, user, at(1_000_000_000)), TEN, NONE_OVER).await.unwrap();
    let rewind = async |stores: &Stores| stores.sessions.rewind(at(0), TEN).await.unwrap();
    assert_eq!(subjects_of(fresh, rewind).await, [about(8)], "copies of it are dated wrongly");
}

pub(super) async fn lists_changes_of_grants(fresh: &Fresh<Stores>) {
    let user = user_id(1);
    let granted = [Subject::Grant(user)];
    let replace = async |stores: &Stores| stores.grants.replace(user, &grant(1)).await.unwrap();
    assert_eq!(subjects_of(fresh, replace).await, granted);
    let version = async |stores: &Stores| stores.grants.find(user).await.unwrap().unwrap().version;
    let update = async |stores: &Stores| {
        let current = version(stores).await;
        stores.grants.update(user, current, &grant(2), ClaimAfter::Released).await.unwrap();
    };
    assert_eq!(subjects_of(fresh, update).await, granted);
    let remove = async |stores: &Stores| {
        let current = version(stores).await;
        assert!(stores.grants.remove(user, current).await.unwrap());
    };
    assert_eq!(subjects_of(fresh, remove).await, granted);
    fresh.one.grants.replace(user, &grant(3)).await.unwrap();
    let remove_unused = async |stores: &Stores| {
        let current = version(stores).await;
        assert!(stores.grants.remove_unused(user, current).await.unwrap());
    };
    assert_eq!(subjects_of(fresh, remove_unused).await, granted);
}

pub(super) async fn a_write_that_changes_nothing_is_no_change(fresh: &Fresh<Stores>) {
    let (id, user, team) =
        (guild_id(1), user_id(5), Roster::new(vec![team_member(user_id(5), "Core", 1)]).unwrap());
    let (records, _): (Vec<_>, Vec<_>) = one_of_each().into_iter().unzip();
    sync(&fresh.one, [], records.clone()).await;
    fresh.one.records.write(Mutation::Report(heartbeat("one", at(9)))).await.unwrap();
    let repeat = async |stores: &Stores| {
        stores.records.put(Record::Guild(guild(id))).await.unwrap();
        stores.records.put(Record::Member(member(id, user, &[1]))).await.unwrap();
        stores.records.put(Record::Subscription(subscription(user, [1], 1))).await.unwrap();
        stores.records.put(Record::Staff(user, staff([StaffPermission::Support]))).await.unwrap();
        stores.records.put(Record::Blocked(user)).await.unwrap();
        stores.records.put(Record::Feedback(feedback("one", 5, user))).await.unwrap();
        stores.records.write(Mutation::ReplaceTeam(team.clone())).await.unwrap();
        stores.records.write(Mutation::Report(heartbeat("one", at(9)))).await.unwrap();
        sync(stores, [Kind::Guild, Kind::Member, Kind::Feedback], records).await;
    };
    assert_eq!(subjects_of(fresh, repeat).await, []);
    let absent = async |stores: &Stores| {
        stores.records.remove(Key::Guild(guild_id(2))).await.unwrap();
        stores.records.remove(Key::Member(id, user_id(6))).await.unwrap();
        stores.records.remove(Key::Subscription(user_id(6))).await.unwrap();
        stores.records.remove(Key::Staff(user_id(6))).await.unwrap();
        stores.records.remove(Key::Blocked(user_id(6))).await.unwrap();
        stores.records.remove(Key::Feedback(feedback_id("two"))).await.unwrap();
        stores
            .records
            .write(Mutation::RemoveSilent([(cluster_id("one"), at(8)), (cluster_id("two"), at(9))].to_vec()))
            .await
            .unwrap();
        stores.sessions.revoke(&token_hash(9)).await.unwrap();
        stores.sessions.revoke_user(user_id(6)).await.unwrap();
        stores.sessions.prune(NONE_OVER, TEN).await.unwrap();
        stores.sessions.expire(&token_hash(9), NONE_OVER).await.unwrap();
        stores.sessions.rewind(at(0), TEN).await.unwrap();
        stores.grants.remove_unused(user_id(6), GrantVersion(1)).await.unwrap();
        stores.records.forget(user_id(6)).await.unwrap();
        sync(stores, [], vec![]).await;
    };
    assert_eq!(subjects_of(fresh, absent).await, []);
}

pub(super) async fn a_refused_write_is_no_change(fresh: &Fresh<Stores>) {
    let user = user_id(1);
    fresh.one.sessions.create(&session(1, user, at(0)), TEN, NONE_OVER).await.unwrap();
    let version = fresh.one.grants.replace(user, &grant(1)).await.unwrap();
    fresh.one.records.write(Mutation::Report(heartbeat("one", at(9)))).await.unwrap();
    let refused = async |stores: &Stores| {
        stores.sessions.create(&session(1, user, at(1)), NonZeroU32::MIN, NONE_OVER).await.unwrap_err();
        let stale = GrantVersion(version.0 + 1000);
        stores.grants.update(user, stale, &grant(2), ClaimAfter::Released).await.unwrap_err();
        assert!(!stores.grants.remove(user, stale).await.unwrap());
        assert!(!stores.grants.remove_unused(user, version).await.unwrap());
        stores.records.put(Record::Member(member(guild_id(9), user, &[1]))).await.unwrap_err();
        stores.records.write(Mutation::RemoveSilent([(cluster_id("one"), at(8))].to_vec())).await.unwrap();
        let lost = Record::Member(member(guild_id(9), user, &[1]));
        let blocked = Record::Blocked(user);
        let mut stream = Stream::of(vec![blocked.clone(), lost], 1);
        stores.records.sync(&Replace::default(), &mut stream).await.unwrap_err();
        let mut stream = Stream::of(vec![blocked], 1).failing("cut");
        stores.records.sync(&Replace::default(), &mut stream).await.unwrap_err();
    };
    assert_eq!(subjects_of(fresh, refused).await, []);
}

/// Uses happen with every request, and would flood the history.
pub(super) async fn using_a_session_is_no_change(fresh: &Fresh<Stores>) {
    fresh.one.sessions.create(&session(1, user_id(1), at(0)), TEN, NONE_OVER).await.unwrap();
    let used = (token_hash(1), at(9));
    let touch = async |stores: &Stores| stores.sessions.touch(Uses::one(&used)).await.unwrap();
    assert_eq!(subjects_of(fresh, touch).await, []);
}

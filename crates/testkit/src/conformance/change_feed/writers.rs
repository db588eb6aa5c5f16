//! What each writer tells.

use super::common::subjects_of;
use crate::conformance::{
    Fresh, Stores,
    sample::{
        NONE_OVER, TEN, at, cluster_id, feedback, feedback_id, grant, guild, guild_id, heartbeat, member,
        session, staff, subscription, team_member, token_hash, user_id,
    },
};
use companion_domain::{
    change::{Key, Kind, Subject},
    model::{Roster, StaffGrant},
    port::{ClaimAfter, Mutation, Record},
    session::Cutoffs,
};
use std::num::NonZeroU32;

const ALL_OVER: Cutoffs = Cutoffs { created: at(1_000_000), seen: at(1_000_000), ..NONE_OVER };

/// Whether exactly these were told, each once, in whatever order.
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

pub(super) async fn guilds_and_members_are_told_of(fresh: &Fresh<Stores>) {
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
    // Whether its members are named too is up to the adapter: a guild that went says it all.
    assert_eq!(gone.iter().filter(|subject| **subject == Subject::Guild(id)).count(), 1, "{gone:?}");
    assert!(
        gone.iter().all(|subject| [&guild_subjects[0], &member_subjects[0]].contains(&subject)),
        "{gone:?}"
    );
}

pub(super) async fn subscriptions_staff_and_blocks_are_told_of(fresh: &Fresh<Stores>) {
    let user = user_id(5);
    for guilds in [vec![1], vec![2]] {
        let put = async |stores: &Stores| {
            stores.records.put(Record::Subscription(subscription(user, guilds, 1))).await.unwrap()
        };
        assert_eq!(subjects_of(fresh, put).await, [Subject::Subscription(user)]);
    }
    let remove = async |stores: &Stores| stores.records.remove(Key::Subscription(user)).await.unwrap();
    assert_eq!(subjects_of(fresh, remove).await, [Subject::Subscription(user)]);
    for granted in [StaffGrant::Support, StaffGrant::Founder] {
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

pub(super) async fn feedback_team_and_clusters_are_told_of(fresh: &Fresh<Stores>) {
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

pub(super) async fn sessions_that_begin_and_end_are_told_of(fresh: &Fresh<Stores>) {
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

pub(super) async fn grants_are_told_of(fresh: &Fresh<Stores>) {
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

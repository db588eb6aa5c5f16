//! Writes that there is nothing to tell of.

use super::{
    common::subjects_of,
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
    change::{Key, Kind},
    model::{Roster, StaffGrant},
    port::{ClaimAfter, GrantVersion, Mutation, Record, Replace},
    session::Uses,
};
use std::num::NonZeroU32;

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
        stores.records.put(Record::Staff(user, staff([StaffGrant::Support]))).await.unwrap();
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

/// It happens with every request; a history full of it would be worth nothing.
pub(super) async fn using_a_session_is_no_change(fresh: &Fresh<Stores>) {
    fresh.one.sessions.create(&session(1, user_id(1), at(0)), TEN, NONE_OVER).await.unwrap();
    let used = (token_hash(1), at(9));
    let touch = async |stores: &Stores| stores.sessions.touch(Uses::one(&used)).await.unwrap();
    assert_eq!(subjects_of(fresh, touch).await, []);
}

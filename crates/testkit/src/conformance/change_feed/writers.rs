//! Which writes are listed as changes, and which are not.

use super::history::subjects_of;
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
use std::{num::NonZeroU32, sync::Arc};

const ALL_OVER: Cutoffs = Cutoffs { created: at(1_000_000), seen: at(1_000_000), ..NONE_OVER };

/// Asserts that a write lists exactly these subjects, in any order, and nothing if it is made again.
async fn lists_once<T>(
    fresh: &Fresh<Stores>,
    expected: impl IntoIterator<Item = Subject>,
    write: impl AsyncFn(&Stores) -> T,
) {
    let expected: Vec<_> = expected.into_iter().collect();
    let listed = subjects_of(fresh, &write).await;
    assert_eq!(listed.len(), expected.len(), "{listed:?}");
    assert!(expected.iter().all(|subject| listed.contains(subject)), "{listed:?} are not {expected:?}");
    assert_eq!(subjects_of(fresh, &write).await, [], "made again");
}

pub(super) async fn lists_changes_of_records_once(fresh: &Fresh<Stores>) {
    let (id, user, entry) = (guild_id(1), user_id(5), feedback_id("one"));
    let place = |user| team_member(user_id(user), "Core", 1);
    let team = Roster::new(vec![place(1), place(2)]).unwrap();
    let silent = |time| vec![(cluster_id("one"), at(time)), (cluster_id("two"), at(1))];
    let put = |record| Mutation::Put(record);
    let cluster = Subject::Cluster(cluster_id("one"));
    let writes = [
        (put(Record::Guild(guild(id))), Subject::Guild(id)),
        (put(Record::Member(member(id, user, &[1]))), Subject::Member(id, user)),
        (put(Record::Member(member(id, user, &[2]))), Subject::Member(id, user)),
        (Mutation::Remove(Key::Member(id, user)), Subject::Member(id, user)),
        (put(Record::Subscription(subscription(user, [1], 1))), Subject::Subscription(user)),
        (put(Record::Subscription(subscription(user, [2], 1))), Subject::Subscription(user)),
        (Mutation::Remove(Key::Subscription(user)), Subject::Subscription(user)),
        (put(Record::Staff(user, staff([StaffPermission::Support]))), Subject::Staff(user)),
        (put(Record::Staff(user, staff([StaffPermission::Founder]))), Subject::Staff(user)),
        (Mutation::Remove(Key::Staff(user)), Subject::Staff(user)),
        (put(Record::Blocked(user)), Subject::Blocked(user)),
        (Mutation::Remove(Key::Blocked(user)), Subject::Blocked(user)),
        (put(Record::Feedback(feedback("one", 5, user))), Subject::Feedback(entry.clone())),
        (put(Record::Feedback(feedback("one", 2, user))), Subject::Feedback(entry.clone())),
        (Mutation::Remove(Key::Feedback(entry.clone())), Subject::Feedback(entry)),
        // One change, however many places.
        (Mutation::ReplaceTeam(team), Subject::Many(Kind::Team)),
        (Mutation::ReplaceTeam(Roster::default()), Subject::Many(Kind::Team)),
        (Mutation::Report(heartbeat("one", at(0))), cluster.clone()),
        (Mutation::Report(heartbeat("one", at(1))), cluster.clone()),
        (Mutation::RemoveSilent(silent(1)), cluster),
    ];
    for (mutation, subject) in writes {
        let write = async |stores: &Stores| stores.records.write(mutation.clone()).await.unwrap();
        lists_once(fresh, [subject], write).await;
    }
    fresh.one.records.put(Record::Member(member(id, user, &[1]))).await.unwrap();
    let remove = async |stores: &Stores| stores.records.remove(Key::Guild(id)).await.unwrap();
    let mut gone = subjects_of(fresh, remove).await;
    // The adapter may list the members too: the removed guild implies them.
    gone.retain(|subject| *subject != Subject::Member(id, user));
    assert_eq!(gone, [Subject::Guild(id)]);
    assert_eq!(subjects_of(fresh, remove).await, []);
}

pub(super) async fn lists_created_and_ended_sessions(fresh: &Fresh<Stores>) {
    let user = user_id(1);
    let about = |number| Subject::Session(token_hash(number));
    let create = async |stores: &Stores, number: u64, cap| {
        let made = session(number, user, at(number.cast_signed()));
        stores.sessions.create(&made, cap, NONE_OVER).await.unwrap();
    };
    for number in 1..=3 {
        assert_eq!(
            subjects_of(fresh, async |stores: &Stores| create(stores, number, TEN).await).await,
            [about(number)]
        );
    }
    let exceed = async |stores: &Stores| create(stores, 4, NonZeroU32::new(3).unwrap()).await;
    let listed = subjects_of(fresh, exceed).await;
    assert!(listed.len() == 2 && [1, 4].map(about).iter().all(|one| listed.contains(one)), "{listed:?}");
    // Uses happen with every request, and would flood the history.
    let used = (token_hash(2), at(9));
    let touch = async |stores: &Stores| stores.sessions.touch(Uses::one(&used)).await.unwrap();
    assert_eq!(subjects_of(fresh, touch).await, []);
    let sessions = |stores: &Stores| Arc::clone(&stores.sessions);
    lists_once(fresh, [about(2)], async |stores| sessions(stores).revoke(&token_hash(2)).await.unwrap())
        .await;
    lists_once(fresh, [3, 4].map(about), async |stores| sessions(stores).revoke_user(user).await.unwrap())
        .await;
    for number in [5, 6] {
        create(&fresh.one, number, TEN).await;
    }
    lists_once(fresh, [5, 6].map(about), async |stores| sessions(stores).prune(ALL_OVER, TEN).await.unwrap())
        .await;
    create(&fresh.one, 7, TEN).await;
    let expire = async |stores: &Stores| stores.sessions.expire(&token_hash(7), ALL_OVER).await.unwrap();
    lists_once(fresh, [about(7)], expire).await;
    // Copies of a session from before a clock reset are dated wrongly.
    fresh.one.sessions.create(&session(8, user, at(1_000_000_000)), TEN, NONE_OVER).await.unwrap();
    lists_once(fresh, [about(8)], async |stores| sessions(stores).rewind(at(0), TEN).await.unwrap()).await;
}

pub(super) async fn lists_changes_of_grants(fresh: &Fresh<Stores>) {
    let user = user_id(1);
    let version = async |stores: &Stores| {
        stores.grants.find(user).await.unwrap().map_or(GrantVersion(1), |grant| grant.version)
    };
    let replace = async |stores: &Stores| stores.grants.replace(user, &grant(1)).await.unwrap();
    let update = async |stores: &Stores| {
        stores.grants.update(user, version(stores).await, &grant(2), ClaimAfter::Released).await.unwrap()
    };
    let remove = async |stores: &Stores| stores.grants.remove(user, version(stores).await).await.unwrap();
    let remove_unused =
        async |stores: &Stores| stores.grants.remove_unused(user, version(stores).await).await.unwrap();
    assert_eq!(subjects_of(fresh, replace).await, [Subject::Grant(user)]);
    assert_eq!(subjects_of(fresh, update).await, [Subject::Grant(user)]);
    lists_once(fresh, [Subject::Grant(user)], remove).await;
    replace(&fresh.one).await;
    lists_once(fresh, [Subject::Grant(user)], remove_unused).await;
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
        let mut stream = Stream::in_batches(vec![blocked.clone(), lost], 1);
        stores.records.sync(&Replace::default(), &mut stream).await.unwrap_err();
        let mut stream = Stream::in_batches(vec![blocked], 1).failing("cut");
        stores.records.sync(&Replace::default(), &mut stream).await.unwrap_err();
    };
    assert_eq!(subjects_of(fresh, refused).await, []);
}

//! The changes of a sync and of forgetting a user.

use super::history::{since, subjects_of};
use crate::conformance::{
    Fresh, Stores,
    concurrency::CancelledWrite,
    sample::{
        LOTS, at, feedback, feedback_id, grant, guild, guild_id, member, session, staff, subscription,
        team_member, token_hash, user_id,
    },
    stream::Stream,
};
use companion_domain::{
    change::{Key, Kind, Revision, Subject},
    model::StaffPermission,
    port::{Record, Replace},
};
use std::sync::Arc;

async fn sync(stores: &Stores, kinds: impl IntoIterator<Item = Kind>, records: Vec<Record>) {
    let replace = Replace { kinds: kinds.into_iter().collect(), shard: None };
    stores.records.sync(&replace, &mut Stream::in_batches(records, 3)).await.unwrap();
}

/// Returns a record of every kind that a sync may contain, and its subject.
fn one_of_each() -> Vec<(Record, Subject)> {
    let (id, user) = (guild_id(1), user_id(5));
    vec![
        (Record::Guild(guild(id)), Subject::Guild(id)),
        (Record::Member(member(id, user, &[1])), Subject::Member(id, user)),
        (Record::Subscription(subscription(user, [1], 1)), Subject::Subscription(user)),
        (Record::Staff(user, staff([StaffPermission::Support])), Subject::Staff(user)),
        (Record::Blocked(user), Subject::Blocked(user)),
        (Record::Feedback(feedback("one", 5, user)), Subject::Feedback(feedback_id("one"))),
        (Record::Team(team_member(user, "Core", 1)), Subject::Many(Kind::Team)),
        (Record::Session(session(1, user, at(0))), Subject::Session(token_hash(1))),
    ]
}

/// Whether exactly these subjects are listed, by name or as one of many.
fn covers(subjects: &[Subject], expected: &[Subject]) -> bool {
    let names =
        |subject: &Subject| subjects.contains(subject) || subjects.contains(&Subject::Many(subject.kind()));
    expected.iter().all(names) && subjects.iter().all(|one| {
        expected.contains(one)
            || matches!(one, Subject::Many(kind) if expected.iter().any(|subject| subject.kind() == *kind))
    })
}

pub(super) async fn a_sync_lists_every_kind_it_changed(fresh: &Fresh<Stores>) {
    let (records, subjects): (Vec<_>, Vec<_>) = one_of_each().into_iter().unzip();
    let bring = async |stores: &Stores| sync(stores, [], records.clone()).await;
    let news = subjects_of(fresh, bring).await;
    assert!(covers(&news, &subjects), "{news:?}");
    assert_eq!(subjects_of(fresh, bring).await, [], "the same again is no change");
    let one_more = async |stores: &Stores| {
        sync(stores, [], [records.clone(), vec![Record::Blocked(user_id(6))]].concat()).await;
    };
    let news = subjects_of(fresh, one_more).await;
    assert!(covers(&news, &[Subject::Blocked(user_id(6))]), "only what is different: {news:?}");
    let replace =
        async |stores: &Stores| sync(stores, [Kind::Blocked, Kind::Feedback, Kind::Team], vec![]).await;
    let news = subjects_of(fresh, replace).await;
    let gone = [
        Subject::Blocked(user_id(5)),
        Subject::Blocked(user_id(6)),
        Subject::Feedback(feedback_id("one")),
        Subject::Many(Kind::Team),
    ];
    assert!(covers(&news, &gone), "{news:?}");
}

pub(super) async fn forgetting_lists_everything_it_removed(fresh: &Fresh<Stores>) {
    let (records, subjects): (Vec<_>, Vec<_>) = one_of_each().into_iter().unzip();
    sync(&fresh.one, [], records).await;
    fresh.one.grants.replace(user_id(5), &grant(1)).await.unwrap();
    let forget = async |stores: &Stores| stores.records.forget(user_id(5)).await.unwrap();
    let news = subjects_of(fresh, forget).await;
    assert_eq!(subjects_of(fresh, forget).await, []);
    let stays = [Kind::Guild, Kind::Blocked, Kind::Team];
    let mut gone: Vec<_> = subjects.into_iter().filter(|subject| !stays.contains(&subject.kind())).collect();
    gone.push(Subject::Grant(user_id(5)));
    assert!(covers(&news, &gone), "{news:?}");
}

pub(super) async fn a_bulk_write_lists_all_changes(fresh: &Fresh<Stores>) {
    let user = user_id(1);
    let all: Vec<_> = (1..=LOTS).map(|number| session(number, user, at(0))).collect();
    let imported = all.iter().cloned().map(Record::Session);
    fresh.one.records.sync(&Replace::default(), &mut Stream::in_batches(imported, 500)).await.unwrap();
    let revoke = async |stores: &Stores| stores.sessions.revoke_user(user).await.unwrap();
    let told = subjects_of(fresh, revoke).await;
    let expected: Vec<_> = all.iter().map(|session| Subject::Session(session.id)).collect();
    assert!(covers(&told, &expected), "{} told of {LOTS}", told.len());
}

/// Otherwise caches would keep the stale entry for ever.
pub(super) async fn a_cancelled_write_is_listed_if_it_was_applied(fresh: &Fresh<Stores>) {
    let user = |number: u64| user_id(number + 1);
    let blocked = CancelledWrite {
        fresh,
        what: "a block and what is told of it",
        ready: async |_: &Arc<Stores>, _| {},
        write: async |stores: &Arc<Stores>, number| {
            stores.records.put(Record::Blocked(user(number))).await.unwrap()
        },
        look: async |stores: &Arc<Stores>, number| {
            let told = since(stores, Revision::default()).await;
            let told = told.iter().any(|change| change.subject == Subject::Blocked(user(number)));
            (told, stores.blocked.is_blocked(user(number)).await.unwrap())
        },
        further: async |stores: &Arc<Stores>| {
            stores.records.remove(Key::Blocked(user_id(u64::MAX))).await.unwrap()
        },
    };
    blocked.leaves_all_or_nothing().await;
}

//! Streams of records, and the contents of a store.

use crate::{
    conformance::{
        Stores,
        sample::user_id,
        stream::{Collected, Stream},
    },
    entropy::SeededEntropy,
};
use companion_domain::{
    change::{Key, Kind, Tally},
    model::{GuildWithRoles, RoleSet},
    port::{Mutation, Record, Replace, SyncError},
};
use std::collections::BTreeMap;

/// Puts these records as one batch.
pub(in crate::conformance) async fn put_all(
    stores: &Stores,
    records: impl IntoIterator<Item = Record>,
) -> Tally {
    let batch = records.into_iter().map(Mutation::Put).collect();
    stores.records.apply(batch).await.unwrap().tally
}

/// Syncs the records without replacing anything.
pub(super) async fn add(stores: &Stores, records: Vec<Record>) -> Tally {
    replace(stores, &Replace::default(), records).await
}

/// Syncs the records in batches of three, or very many in longer ones.
pub(super) async fn replace(stores: &Stores, replace: &Replace, records: Vec<Record>) -> Tally {
    let at_a_time = (records.len() / 20).max(3);
    try_sync(stores, replace, Stream::in_batches(records, at_a_time)).await.unwrap()
}

pub(super) async fn try_sync(
    stores: &Stores,
    replace: &Replace,
    mut stream: Stream,
) -> Result<Tally, SyncError> {
    stores.records.sync(replace, &mut stream).await.map(|applied| applied.tally)
}

pub(in crate::conformance) fn replacing(kinds: impl IntoIterator<Item = Kind>) -> Replace {
    Replace { kinds: kinds.into_iter().collect(), shard: None }
}

/// Replaces every kind that a sync may replace.
pub(super) fn everything() -> Replace {
    replacing(Kind::ALL.into_iter().filter(|kind| kind.replaced().is_some()))
}

pub(super) fn added(count: u64) -> Tally {
    Tally { added: count, ..Tally::NOTHING }
}

pub(super) async fn exported(stores: &Stores) -> Vec<Record> {
    let mut collected = Collected::default();
    stores.records.export(&mut collected).await.unwrap();
    collected.0
}

/// Returns everything in the store by key, and asserts that the reading ports show the same. Stores with equal
/// contents are indistinguishable.
pub(super) async fn contents(stores: &Stores) -> BTreeMap<Key, Record> {
    let exported = by_key(exported(stores).await);
    let picked = stores.feedback.pick_positive(usize::MAX, SeededEntropy::new(1).seed()).await.unwrap();
    let mut read: Vec<_> = picked.iter().map(|entry| Record::Feedback((**entry).clone())).collect();
    read.extend(stores.team.all().await.unwrap().iter().cloned().map(Record::Team));
    read.extend(stores.status_history.notices().await.unwrap().into_iter().map(Record::Notice));
    read.extend(stores.status_history.periods().await.unwrap().into_iter().map(Record::Period));
    let is_read = |record: &&Record| match record {
        Record::Feedback(entry) => entry.rating.stars() >= 4,
        other => matches!(other.kind(), Kind::Team | Kind::Notice | Kind::Period),
    };
    assert_eq!(by_key(read), by_key(exported.values().filter(is_read).cloned().collect()));

    let guild_of = |key: &Key| if let Key::Guild(guild) = key { Some(*guild) } else { None };
    let (guilds, user): (Vec<_>, _) = (exported.keys().filter_map(guild_of).collect(), user_id(1));
    let seen = stores.guilds.with_roles(user, &guilds).await.unwrap();
    assert_eq!(seen.len(), guilds.len(), "guilds");
    for GuildWithRoles { guild, roles } in seen {
        let member = exported.get(&Key::Member(guild.id, user));
        let expected =
            if let Some(Record::Member(member)) = member { member.roles.clone() } else { RoleSet::default() };
        assert_eq!(*roles, expected, "roles in {}", guild.id);
        assert_eq!(exported.get(&Key::Guild(guild.id)), Some(&Record::Guild((*guild).clone())));
    }
    exported
}

/// Asserts that two stores have equal contents. The message has only the first difference: very many records would take
/// longer to print than to compare.
#[track_caller]
pub(super) fn assert_same(found: &BTreeMap<Key, Record>, expected: &BTreeMap<Key, Record>) {
    let keys = expected.keys().chain(found.keys());
    if let Some(key) = keys.into_iter().find(|key| found.get(key) != expected.get(key)) {
        panic!("{:?} of {} records, expected {:?}", found.get(key), found.len(), expected.get(key));
    }
}

pub(super) fn by_key(records: Vec<Record>) -> BTreeMap<Key, Record> {
    records.into_iter().map(|record| (record.key(), record)).collect()
}

//! Streams of records, and the contents of a store.

use crate::conformance::{
    Stores,
    sample::{
        at, feedback, grant, guild, guild_id, member, notice, outline, period, session, settings_entry,
        settings_schema, staff, stored_settings, subscription, team_member, user_id,
    },
    stream::{Collected, Stream},
};
use companion_domain::{
    change::{Key, Kind, Tally},
    model::{PeriodSubject, StaffPermission, UserId},
    port::{Grant, GrantVersion, Mutation, Record, Replace, SyncError},
};
use std::collections::BTreeMap;

/// Returns the kinds that a sync may replace.
pub(super) fn replaceable() -> impl Iterator<Item = Kind> {
    Kind::ALL.into_iter().filter(|kind| kind.replaced().is_some())
}

/// Puts these records as one batch.
pub(super) async fn put_all(stores: &Stores, records: Vec<Record>) -> Tally {
    let batch = records.into_iter().map(Mutation::Put).collect();
    stores.records.apply(batch).await.unwrap().tally
}

/// Syncs the records without replacing anything.
pub(super) async fn add(stores: &Stores, records: Vec<Record>) -> Tally {
    replace(stores, &Replace::default(), records).await
}

/// Syncs the records in batches of three.
pub(super) async fn replace(stores: &Stores, replace: &Replace, records: Vec<Record>) -> Tally {
    try_sync(stores, replace, Stream::of(records, 3)).await.unwrap()
}

pub(super) async fn try_sync(
    stores: &Stores,
    replace: &Replace,
    mut stream: Stream,
) -> Result<Tally, SyncError> {
    stores.records.sync(replace, &mut stream).await.map(|applied| applied.tally)
}

pub(super) fn replacing(kinds: impl IntoIterator<Item = Kind>) -> Replace {
    Replace { kinds: kinds.into_iter().collect(), shard: None }
}

pub(super) fn added(count: u64) -> Tally {
    Tally { added: count, ..Tally::NOTHING }
}

/// Returns everything in the store by key. Stores with equal contents are indistinguishable.
pub(super) async fn contents(stores: &Stores) -> BTreeMap<Key, Record> {
    let mut collected = Collected::default();
    stores.records.export(&mut collected).await.unwrap();
    by_key(collected.0)
}

pub(super) fn by_key(records: Vec<Record>) -> BTreeMap<Key, Record> {
    records.into_iter().map(|record| (record.key(), record)).collect()
}

/// Returns two records of every kind, but one schema, with every member in guild 1, each kind in key order.
pub(super) fn two_of_each() -> Vec<Record> {
    let granted = |version, number| Grant { version: GrantVersion(version), content: grant(number) };
    vec![
        Record::Guild(guild(guild_id(1))),
        Record::Guild(guild(guild_id(2))),
        Record::Member(member(guild_id(1), user_id(1), &[1, 2])),
        Record::Member(member(guild_id(1), user_id(2), &[3])),
        Record::Subscription(subscription(user_id(1), [1, 2], 3)),
        Record::Subscription(subscription(user_id(2), [], 1)),
        Record::Staff(user_id(1), staff([StaffPermission::Support])),
        Record::Staff(user_id(2), staff([StaffPermission::Founder, StaffPermission::Docwriter])),
        Record::Blocked(user_id(8)),
        Record::Blocked(user_id(9)),
        Record::Feedback(feedback("one", 5, user_id(1))),
        Record::Feedback(feedback("two", 2, user_id(2))),
        Record::Team(team_member(user_id(1), "Core", 1)),
        Record::Team(team_member(user_id(2), "Core", 2)),
        Record::Outline(outline(guild_id(1))),
        Record::Outline(outline(guild_id(2))),
        Record::Schema(settings_schema()),
        Record::Settings(guild_id(1), stored_settings(1)),
        Record::Settings(guild_id(2), stored_settings(2)),
        Record::SettingsEdit(settings_entry(guild_id(1), 1)),
        Record::SettingsEdit(settings_entry(guild_id(2), 2)),
        Record::Notice(notice("one")),
        Record::Notice(notice("two")),
        Record::Period(period(PeriodSubject::Silent, at(1))),
        Record::Period(period(PeriodSubject::Silent, at(2))),
        Record::Session(session(1, user_id(1), at(1))),
        Record::Session(session(2, user_id(2), at(2))),
        Record::Grant(user_id(1), granted(7, 1)),
        Record::Grant(user_id(2), granted(3, 2)),
    ]
}

/// Whether forgetting a user removes this record.
pub(super) fn is_of(user: UserId, record: &Record) -> bool {
    match record {
        Record::Member(member) => member.user == user,
        Record::Subscription(subscription) => subscription.user == user,
        Record::Staff(of, _) | Record::Grant(of, _) => *of == user,
        Record::Feedback(feedback) => feedback.submitter.id == user,
        Record::Session(session) => session.user == user,
        // The guild that a user owns is the bot's data.
        Record::Guild(_)
        | Record::Outline(_)
        | Record::Blocked(_)
        | Record::Team(_)
        // Forgetting changes the history of settings, and removes none of it.
        | Record::Schema(_)
        | Record::Settings(..)
        | Record::SettingsEdit(_)
        | Record::Notice(_)
        | Record::Period(_) => false,
    }
}

//! The contract of [`SettingsStore`](companion_domain::port::SettingsStore).

use super::{
    CALLERS, Fresh, Stores,
    change_feed::subjects_of,
    concurrency::pages,
    prepared::granted,
    sample::{
        AWKWARD, BEYOND_SIGNED, at, guild, guild_id, guild_id_in, listing, membership, settings_schema,
        subscription, user_id,
    },
};
use companion_domain::{
    change::{Applied, Key, Kind, Subject, Tally},
    model::{GuildId, Timestamp, UserId},
    port::{ChangeSettingsError, ConfirmSettingsError, Record, ShardSlice, StoreErrorKind},
    settings::{
        Authority, Change, ChangedField, Edit, HistoryEntry, Origin, Problem, Rejected, Schema, SettingKey,
        Stored, Value,
    },
};
use std::{num::NonZeroU32, sync::Arc};

suite! {
    /// Generates one test per behaviour of `SettingsStore`. It needs all storage ports.
    settings_store_conformance($): settings_store, Stores;
    returns_the_last_published_schema,
    returns_values_exactly_as_they_were_set,
    a_change_is_one_step_and_the_history_keeps_the_last_fifty,
    an_outdated_or_wrong_change_changes_nothing,
    concurrent_changes_are_made_one_after_the_other,
    a_user_is_judged_by_what_is_stored,
    a_confirmation_never_lowers_and_repeats_nothing,
    only_a_removal_ends_values_confirmation_and_history,
    pages_contain_each_guild_with_values_once_by_id,
    forgetting_a_user_keeps_what_they_changed,
    unreadable_settings_affect_no_other,
}

const GUILD: u64 = 7;

fn key(text: &str) -> SettingKey {
    text.parse().unwrap()
}

fn text(text: &str) -> Option<Value> {
    Some(Value::Text(text.into()))
}

/// Returns a change by the bot.
fn change<const N: usize>(guild: GuildId, values: [(&str, Option<Value>); N]) -> Change {
    Change {
        guild,
        values: values.into_iter().map(|(name, value)| (key(name), value)).collect(),
        expected: None,
        edit: Edit { at: at(1), by: None, via: Origin::Bot },
        authority: None,
    }
}

fn by_user(change: Change, user: UserId, list_since: Timestamp) -> Change {
    let edit = Edit { by: Some(user), via: Origin::Site, ..change.edit };
    Change { edit, authority: Some(Authority { user, list_since }), ..change }
}

async fn publish(stores: &Stores) {
    stores.settings.publish(&settings_schema()).await.unwrap();
}

/// Sets `free.text` of a guild.
async fn set(stores: &Stores, guild: GuildId, to: &str) -> (Stored, Applied) {
    stores.settings.change(&change(guild, [("free.text", text(to))])).await.unwrap()
}

/// Returns the settings of a guild and its history, as both handles show them.
async fn shown(fresh: &Fresh<Stores>, guild: GuildId) -> (Stored, Vec<HistoryEntry>) {
    let find = async |stores: &Arc<Stores>| stores.settings.find(guild).await.unwrap();
    let history = async |stores: &Arc<Stores>| stores.settings.history(guild).await.unwrap();
    (fresh.shows(find).await, fresh.shows(history).await)
}

async fn rejected(stores: &Stores, change: &Change) -> Rejected {
    match stores.settings.change(change).await {
        Err(ChangeSettingsError::Rejected(rejected)) => rejected,
        other => panic!("it was not rejected: {other:?}"),
    }
}

async fn returns_the_last_published_schema(fresh: &Fresh<Stores>) {
    assert_eq!(fresh.one.settings.schema().await.unwrap(), None);
    let any = change(guild_id(GUILD), [("free.text", text("a"))]);
    assert!(matches!(rejected(&fresh.one, &any).await, Rejected::Invalid(_)), "no field is known");
    let (first, second) = (settings_schema(), Schema::default());
    for schema in [&first, &second, &first] {
        let publish = async |stores: &Stores| {
            assert_eq!(stores.settings.publish(schema).await.unwrap().changes.len(), 1);
        };
        assert_eq!(subjects_of(fresh, publish).await, [Subject::Many(Kind::Schema)]);
        let shown = fresh.shows(async |stores| stores.settings.schema().await.unwrap()).await;
        assert_eq!(shown.as_deref(), Some(schema));
    }
    assert_eq!(fresh.one.settings.publish(&first).await.unwrap(), Applied::default());
}

async fn returns_values_exactly_as_they_were_set(fresh: &Fresh<Stores>) {
    publish(&fresh.one).await;
    assert_eq!(fresh.one.settings.find(guild_id(u64::MAX)).await.unwrap(), Stored::default());
    let values = [
        ("free.text", text(AWKWARD)),
        ("free.number", Some(Value::Number(0.7 + 0.1))),
        ("free.on", Some(Value::Boolean(false))),
        ("free.list", Some(Value::List(vec!["b".into(), "".into(), AWKWARD.into(), "a".into()]))),
        ("plus.text", text("")),
        ("plus.number", Some(Value::Number(9_007_199_254_740_991.0))),
        ("plus.list", Some(Value::List(Vec::new()))),
    ];
    let sent = change(guild_id(u64::MAX), values);
    let expected = Stored {
        revision: 1,
        values: sent.values.clone().into_iter().filter_map(|(key, value)| Some((key, value?))).collect(),
        changed: Some(sent.edit),
        ..Stored::default()
    };
    assert_eq!(fresh.one.settings.change(&sent).await.unwrap().0, expected);
    // The same again changes nothing, and is not recorded.
    let again = async |stores: &Stores| {
        assert_eq!(stores.settings.change(&sent).await.unwrap(), (expected.clone(), Applied::default()));
    };
    assert_eq!(subjects_of(fresh, again).await, []);
    let (stored, history) = shown(fresh, guild_id(u64::MAX)).await;
    assert_eq!((stored, history.len()), (expected, 1));
}

async fn a_change_is_one_step_and_the_history_keeps_the_last_fifty(fresh: &Fresh<Stores>) {
    let (stores, guild, other) = (&fresh.one, guild_id(GUILD), guild_id(GUILD + 1));
    publish(stores).await;
    set(stores, other, "alone").await;
    for number in 1..=52 {
        set(stores, guild, &format!("{number}")).await;
    }
    let last = change(guild, [("free.text", None), ("free.on", Some(Value::Boolean(true)))]);
    let write = async |stores: &Stores| {
        let (stored, applied) = stores.settings.change(&last).await.unwrap();
        assert_eq!((stored.revision, applied.tally, applied.changes.len()), (53, Tally::CHANGED, 1));
    };
    assert_eq!(subjects_of(fresh, write).await, [Subject::Settings(guild, 53)]);
    let changes = vec![
        ChangedField { key: key("free.on"), from: None, to: Some(Value::Boolean(true)) },
        ChangedField { key: key("free.text"), from: text("52"), to: None },
    ];
    let (_, history) = shown(fresh, guild).await;
    let revisions: Vec<_> = history.iter().map(|entry| entry.revision).collect();
    assert_eq!(revisions, (4..=53).rev().collect::<Vec<_>>());
    assert_eq!(history.first(), Some(&HistoryEntry { guild, revision: 53, edit: last.edit, changes }));
    assert_eq!(shown(fresh, other).await.1.len(), 1);
}

async fn an_outdated_or_wrong_change_changes_nothing(fresh: &Fresh<Stores>) {
    let (stores, guild) = (&fresh.one, guild_id(GUILD));
    publish(stores).await;
    let (stored, _) = set(stores, guild, "kept").await;
    let before = stores.changes.latest().await.unwrap();
    let outdated = Change { expected: Some(0), ..change(guild, [("free.text", text("lost"))]) };
    assert_eq!(rejected(stores, &outdated).await, Rejected::Outdated(1));
    let wrong =
        [("free.text", text("lost")), ("free.number", Some(Value::Boolean(true))), ("no.field", None)];
    let Rejected::Invalid(errors) = rejected(stores, &change(guild, wrong)).await else {
        panic!("two values are wrong")
    };
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert_eq!(stores.settings.find(guild).await.unwrap(), stored);
    assert_eq!(stores.settings.history(guild).await.unwrap().len(), 1);
    assert_eq!(stores.changes.latest().await.unwrap(), before);
}

/// One of them wins if all expect the same revision.
async fn concurrent_changes_are_made_one_after_the_other(fresh: &Fresh<Stores>) {
    publish(&fresh.one).await;
    for (guild, expected, revisions) in [(1, Some(0), 1..=1), (2, None, 1..=CALLERS)] {
        let outcomes = fresh
            .concurrently(|number, stores| async move {
                let values = [("free.text", text(&format!("{number}")))];
                let change = Change { expected, ..change(guild_id(guild), values) };
                match stores.settings.change(&change).await {
                    Ok((stored, _)) => Some(stored),
                    Err(ChangeSettingsError::Rejected(Rejected::Outdated(1))) => None,
                    Err(other) => panic!("{other:?}"),
                }
            })
            .await;
        let mut made: Vec<_> = outcomes.into_iter().flatten().collect();
        made.sort_by_key(|stored| stored.revision);
        assert!(made.iter().map(|stored| stored.revision).eq(revisions), "{made:?}");
        assert_eq!(made.pop(), Some(fresh.one.settings.find(guild_id(guild)).await.unwrap()));
    }
}

/// The platform's bit for managing a guild.
const MANAGE: u64 = 1 << 5;

async fn a_user_is_judged_by_what_is_stored(fresh: &Fresh<Stores>) {
    let (stores, guild, user) = (&fresh.one, guild_id(GUILD), user_id(1));
    publish(stores).await;
    let free = |to: &str| by_user(change(guild, [("free.text", text(to))]), user, at(0));
    let since = |list_since| by_user(change(guild, [("free.text", text("a"))]), user, list_since);
    let managing = listing([membership(GUILD, false, MANAGE)]);
    let plus = || by_user(change(guild, [("plus.text", text("a"))]), user, at(0));
    assert!(matches!(rejected(stores, &free("a")).await, Rejected::NotListed(_)));
    stores.records.put(Record::Guild(super::sample::guild(guild))).await.unwrap();
    granted(stores, user, &managing).await;
    assert_eq!(rejected(stores, &since(at(2))).await, Rejected::ListTooOld);
    let (stored, _) = stores.settings.change(&free("a")).await.unwrap();
    assert_eq!(stored.changed, Some(Edit { at: at(1), by: Some(user), via: Origin::Site }));
    assert!(matches!(rejected(stores, &plus()).await, Rejected::NotEditable(_)));
    stores.records.put(Record::Subscription(subscription(user_id(9), [GUILD], 1))).await.unwrap();
    assert_eq!(stores.settings.change(&plus()).await.unwrap().0.revision, 2);
    // What was taken away a moment ago counts no more, through any handle.
    fresh.settle().await;
    granted(&fresh.other, user, &listing([membership(GUILD, false, 0)])).await;
    assert!(matches!(rejected(stores, &free("b")).await, Rejected::NotListed(_)));
    granted(&fresh.other, user, &managing).await;
    fresh.other.records.put(Record::Blocked(user)).await.unwrap();
    assert!(matches!(rejected(stores, &free("b")).await, Rejected::NotListed(_)));
    assert_eq!(stores.settings.find(guild).await.unwrap().revision, 2);
}

async fn a_confirmation_never_lowers_and_repeats_nothing(fresh: &Fresh<Stores>) {
    let (stores, guild) = (&fresh.one, guild_id(GUILD));
    publish(stores).await;
    for to in ["one", "two"] {
        set(stores, guild, to).await;
    }
    let problems = vec![Problem { key: key("free.text"), message: AWKWARD.parse().unwrap() }];
    let above = stores.settings.confirm(guild, 3, &[]).await;
    assert!(matches!(above, Err(ConfirmSettingsError::AboveCurrent(2))), "{above:?}");
    for (revision, problems, differs) in
        [(1, &[][..], true), (2, &problems, true), (2, &problems, false), (1, &[], false)]
    {
        let confirm = async |stores: &Stores| {
            let applied = stores.settings.confirm(guild, revision, problems).await.unwrap();
            assert_eq!(applied.tally != Tally::NOTHING, differs);
        };
        let expected: Vec<_> = differs.then_some(Subject::Applied(guild, revision)).into_iter().collect();
        assert_eq!(subjects_of(fresh, confirm).await, expected);
    }
    let (stored, _) = shown(fresh, guild).await;
    assert_eq!((stored.revision, stored.applied, &stored.problems), (2, Some(2), &problems));
    set(stores, guild, "three").await;
    assert_eq!(stores.settings.find(guild).await.unwrap().applied, Some(2));
}

/// The removal of their guild ends none of them.
async fn only_a_removal_ends_values_confirmation_and_history(fresh: &Fresh<Stores>) {
    let (stores, id, other) = (&fresh.one, guild_id(GUILD), guild_id(GUILD + 1));
    publish(stores).await;
    stores.records.put(Record::Guild(guild(id))).await.unwrap();
    set(stores, id, "gone").await;
    set(stores, other, "kept").await;
    stores.settings.confirm(id, 1, &[]).await.unwrap();
    let shows = async |expected: Stored, edits| {
        let (stored, history) = shown(fresh, id).await;
        assert_eq!((stored, history.len()), (expected, edits));
        assert_eq!(shown(fresh, other).await.1.len(), 1);
    };
    let stored = stores.settings.find(id).await.unwrap();
    stores.records.remove(Key::Guild(id)).await.unwrap();
    shows(stored, 1).await;
    let remove = async |stores: &Stores| {
        assert_eq!(stores.settings.remove(id).await.unwrap().tally, Tally::REMOVED);
    };
    assert_eq!(subjects_of(fresh, remove).await, [Subject::Settings(id, 0)]);
    assert_eq!(stores.settings.remove(id).await.unwrap(), Applied::default());
    shows(Stored::default(), 0).await;
}

async fn pages_contain_each_guild_with_values_once_by_id(fresh: &Fresh<Stores>) {
    publish(&fresh.one).await;
    let large = [BEYOND_SIGNED, u64::MAX].map(guild_id);
    let ids = [[guild_id_in(0, 3), guild_id_in(1, 1), guild_id_in(2, 9)].as_slice(), &large].concat();
    for id in ids.iter().rev() {
        set(&fresh.one, *id, "set").await;
    }
    // Nothing is set here any more.
    let unset = guild_id_in(1, 2);
    set(&fresh.one, unset, "unset").await;
    fresh.one.settings.change(&change(unset, [("free.text", None)])).await.unwrap();
    fresh.settle().await;
    let page = async |slice, after, limit| {
        let page = fresh.other.settings.page(slice, after, limit).await.unwrap();
        assert!(page.iter().all(|(_, stored)| stored.revision == 1));
        page.into_iter().map(|(guild, _)| guild).collect::<Vec<_>>()
    };
    assert_eq!(pages(2, async |after, limit| page(None, after, limit).await, async |_| {}).await, ids);
    let mut of_shards = Vec::new();
    for index in 0..3 {
        let slice = ShardSlice::new(index, 3).unwrap();
        let seen = page(Some(slice), None, NonZeroU32::MAX).await;
        assert!(seen.iter().all(|guild| slice.has(*guild)));
        of_shards.extend(seen);
    }
    of_shards.sort_unstable();
    assert_eq!(of_shards, ids);
}

async fn forgetting_a_user_keeps_what_they_changed(fresh: &Fresh<Stores>) {
    let (stores, guild, user) = (&fresh.one, guild_id(GUILD), user_id(1));
    publish(stores).await;
    for (by, to) in [(user, "one"), (user_id(2), "two"), (user, "three")] {
        let edit = Edit { at: at(1), by: Some(by), via: Origin::Bot };
        let change = Change { edit, ..change(guild, [("free.text", text(to))]) };
        stores.settings.change(&change).await.unwrap();
    }
    let about = stores.records.about(user).await.unwrap();
    assert!(about.len() == 2 && about.iter().all(|it| matches!(it, Record::SettingsEdit(_))), "{about:?}");
    assert_eq!(stores.records.forget(user).await.unwrap().tally.changed, 2);
    let (stored, history) = shown(fresh, guild).await;
    let by: Vec<_> = history.iter().map(|entry| entry.edit.by).collect();
    assert_eq!(by, [None, Some(user_id(2)), None]);
    assert_eq!(stored.values.get(&key("free.text")), text("three").as_ref());
    assert_eq!(stored.changed, Some(Edit { at: at(1), by: None, via: Origin::Bot }));
    assert_eq!(fresh.shows(async |stores| stores.records.about(user).await.unwrap()).await, []);
}

async fn unreadable_settings_affect_no_other(fresh: &Fresh<Stores>) {
    let (stores, guild, other) = (&fresh.one, guild_id(GUILD), guild_id(GUILD + 1));
    publish(stores).await;
    set(stores, guild, "set").await;
    for to in ["one", "two", "three"] {
        set(stores, other, to).await;
    }
    if !fresh.damage([Key::Settings(guild), Key::SettingsEdit(other, 2)]).await {
        return;
    }
    // A change would overwrite what an operator may still repair.
    let found = stores.settings.find(guild).await;
    assert_eq!(found.map_err(|error| error.kind), Err(StoreErrorKind::Corrupt));
    let changed = stores.settings.change(&change(guild, [("free.text", None)])).await;
    assert!(
        matches!(changed, Err(ChangeSettingsError::Store(error)) if error.kind == StoreErrorKind::Corrupt)
    );
    let page = stores.settings.page(None, None, NonZeroU32::MAX).await.unwrap();
    assert_eq!(page.into_iter().map(|(guild, _)| guild).collect::<Vec<_>>(), [other]);
    let history = stores.settings.history(other).await.unwrap();
    assert_eq!(history.iter().map(|entry| entry.revision).collect::<Vec<_>>(), [3, 1]);
    assert_eq!(set(stores, other, "four").await.0.revision, 4);
    if fresh.damage([Key::Schema(())]).await {
        assert_eq!(stores.settings.schema().await.unwrap(), None, "it counts as absent");
        publish(stores).await;
        assert_eq!(stores.settings.schema().await.unwrap().as_deref(), Some(&settings_schema()));
    }
}

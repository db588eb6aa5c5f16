//! The contents of an export.

use super::{
    common::{add, assert_same, by_key, contents, everything, exported},
    kinds::{KEYED, two_of_each},
};
use crate::conformance::{
    Fresh, Stores,
    prepared::{begin, granted},
    sample::{
        AWKWARD, BEYOND_SIGNED, LOTS, at, awkward_names, feedback, feedback_id, grant, guild, guild_id,
        heartbeat, member, name, prose, session, staff, subscription, team_member, token_hash, user_id,
    },
    stream::{Collected, Stream},
};
use async_trait::async_trait;
use companion_domain::{
    change::Key,
    model::{Feedback, GuildId, PeriodSubject, StaffPermission, TeamMember},
    port::{Cause, Grant, GrantContent, GrantVersion, Mutation, Record, RecordSink},
};
use std::{collections::HashSet, sync::Arc, time::Duration};

/// Returns records of every kind, with text and ids that are easily corrupted.
fn awkward() -> Vec<Record> {
    let places = (1..).zip(awkward_names()).flat_map(|(number, text)| {
        // The places of user 100 may differ in one character of their category, and each has the user as put.
        [number, 100].map(|user| {
            let mut place = TeamMember { role: text.clone(), ..team_member(user_id(user), "Support", 1) };
            (place.user.username, place.user.name) = (text.clone(), text.clone());
            Record::Team(TeamMember { category: text.clone(), ..place })
        })
    });
    let keyed = KEYED.iter().flat_map(|kind| (kind.awkward)());
    two_of_each().into_iter().chain(keyed).chain(places).collect()
}

/// Returns these and more records of every kind than any adapter exports in one batch.
fn a_lot() -> Vec<Record> {
    let guilds = (1..=300).flat_map(|number| {
        let id = guild_id(number * 31 % 307 + BEYOND_SIGNED - 150);
        [Record::Guild(guild(id)), Record::Member(member(id, user_id(number), &[number]))]
    });
    let said = (1..=700).map(|number| {
        let text = prose(&format!("{AWKWARD} {number}"));
        Record::Feedback(Feedback { text, ..feedback(&format!("f-{number}"), 1 + number % 5, user_id(1)) })
    });
    let blocked = (1000..1300).map(|number| Record::Blocked(user_id(number)));
    let of_users = (1..=LOTS).flat_map(|number| {
        let (user, version) = (user_id(BEYOND_SIGNED + number), GrantVersion(number));
        [
            Record::Session(session(1000 + number, user, at(i64::try_from(number).unwrap()))),
            Record::Grant(user, Grant { version, content: grant(number) }),
            Record::Subscription(subscription(user, [number, 7], number)),
            Record::Staff(user, staff([StaffPermission::Support])),
        ]
    });
    awkward().into_iter().chain(guilds).chain(said).chain(blocked).chain(of_users).collect()
}

/// Members follow their guilds, so that any store can import what this one exports.
pub(super) async fn an_export_recreates_the_store(fresh: &Fresh<Stores>) {
    let (stores, user) = (&fresh.one, user_id(3));
    // Reports are valid for minutes only, so no stream contains them.
    stores.records.write(Mutation::Report(heartbeat("one", at(0)))).await.unwrap();
    assert_eq!(exported(stores).await, []);
    add(stores, a_lot()).await;
    // Written through their own port.
    begin(stores, &session(3, user, at(3)), &grant(3)).await;
    let granted = stores.grants.find(user).await.unwrap().unwrap();
    let written = vec![Record::Session(session(3, user, at(3))), Record::Grant(user, granted)];
    let expected = [a_lot(), written].concat();
    fresh.settle().await;
    let records = exported(&fresh.other).await;
    assert_eq!(records.len(), expected.len(), "each once");
    assert_same(&contents(&fresh.other).await, &by_key(expected));
    let mut guilds: HashSet<GuildId> = HashSet::new();
    for record in records {
        match record {
            Record::Guild(guild) => drop(guilds.insert(guild.id)),
            Record::Member(member) => assert!(guilds.contains(&member.guild), "{member:?} came too early"),
            _ => {}
        }
    }
}

/// Changes something of every kind as soon as the first records arrive.
struct Meddling {
    taken: Collected,
    stores: Arc<Stores>,
}

#[async_trait]
impl RecordSink for Meddling {
    async fn take(&mut self, records: Vec<Record>) -> Result<(), Cause> {
        if self.taken.0.is_empty() {
            let mut nothing = Stream::of(vec![]);
            self.stores.records.sync(&everything(), &mut nothing).await?;
            self.stores.records.put(Record::Blocked(user_id(4711))).await?;
            self.stores.records.put(Record::Feedback(feedback("new", 5, user_id(1)))).await?;
            self.stores.sessions.revoke_user(user_id(1)).await?;
            granted(&self.stores, user_id(2), &GrantContent::default()).await;
        }
        self.taken.take(records).await
    }
}

pub(super) async fn an_export_reads_one_snapshot(fresh: &Fresh<Stores>) {
    add(&fresh.one, a_lot()).await;
    let mut meddling = Meddling { taken: Collected::default(), stores: Arc::clone(&fresh.other) };
    let exported = fresh.one.records.export(&mut meddling);
    // An export that blocks writers would never finish here.
    tokio::time::timeout(Duration::from_secs(20), exported).await.unwrap().unwrap();
    assert_eq!(meddling.taken.0.len(), a_lot().len());
    assert_same(&by_key(meddling.taken.0), &by_key(a_lot()));
}

/// A sink that is full.
struct Full;

#[async_trait]
impl RecordSink for Full {
    async fn take(&mut self, _: Vec<Record>) -> Result<(), Cause> {
        Err("no room".into())
    }
}

pub(super) async fn a_failing_sink_fails_the_export(fresh: &Fresh<Stores>) {
    add(&fresh.one, two_of_each()).await;
    assert!(fresh.one.records.export(&mut Full).await.is_err());
    assert_eq!(contents(&fresh.one).await, by_key(two_of_each()), "and the store is none the worse for it");
}

pub(super) async fn exports_leave_out_and_forget_removes_unreadable_values(fresh: &Fresh<Stores>) {
    let user = user_id(1);
    add(&fresh.one, two_of_each()).await;
    let damaged = [
        Key::Member(guild_id(1), user),
        Key::Outline(guild_id(1)),
        Key::Subscription(user),
        Key::Staff(user),
        Key::Feedback(feedback_id("one")),
        Key::Team(user, name("Core")),
        Key::Session(token_hash(1)),
        Key::Grant(user),
        Key::Notice("one".parse().unwrap()),
        Key::Period(PeriodSubject::Silent, at(1)),
    ];
    if !fresh.damage(damaged.clone()).await {
        return;
    }
    let mut whole = by_key(two_of_each());
    whole.retain(|key, _| !damaged.contains(key));
    fresh.through_both(async |stores| assert_eq!(contents(stores).await, whole)).await;
    assert_eq!(fresh.one.records.about(user).await.unwrap(), []);
    let forgotten = fresh.one.records.forget(user).await.unwrap().tally;
    // All but the team membership. An unreadable session may have no known user.
    assert!((5..=6).contains(&forgotten.removed), "{forgotten:?}");
    fresh.through_both(async |stores| assert_eq!(contents(stores).await, whole)).await;
    add(&fresh.one, two_of_each()).await;
    fresh.through_both(async |stores| assert_eq!(contents(stores).await, by_key(two_of_each()))).await;
    if fresh.damage([Key::Guild(guild_id(1))]).await {
        let mut importable = by_key(two_of_each());
        let gone = guild_id(1);
        importable.retain(|key, _| *key != Key::Guild(gone) && key.guild() != Some(gone));
        fresh.through_both(async |stores| assert_eq!(contents(stores).await, importable)).await;
    }
}

//! Unreadable rows: each is skipped, and affects no other row.

use super::Place;
use crate::sample::{Collected, Stream};
use companion_domain::{
    change::{Change, Changes, Key, Kind, Revision, Subject, Tally},
    model::{Feedback, GuildList, StaffPermissions},
    port::{
        BotTelemetry, ChangeFeed, FeedbackStore, Grant, GrantContent, GrantStore, GrantVersion, Mutation,
        Record, Records, Replace, Sealed,
    },
};
use companion_storage_diesel::DieselStorage;
use companion_testkit::{
    entropy::SeededEntropy,
    world::{
        a_feedback, a_guild, a_heartbeat, a_member, a_session, a_subscription, a_team_member, an_ownership,
        at, guild_id, user_id,
    },
};
use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU32,
};

fn staff() -> StaffPermissions {
    ["SUPPORT".parse().unwrap()].into_iter().collect()
}

fn grant(tokens: Option<&[u8]>) -> Grant {
    let list =
        GuildList { memberships: [an_ownership(1)].into(), without_bot: Vec::new(), fetched_at: at(5) };
    let tokens = tokens.map(|bytes| Sealed::from_bytes(bytes.to_vec()));
    Grant { version: GrantVersion(4), content: GrantContent { tokens, list: Some(list), profile: None } }
}

fn entries() -> Vec<Feedback> {
    (1..=7).map(|number| a_feedback(&format!("f{number}"), 5)).collect()
}

fn world() -> Vec<Record> {
    let mut records: Vec<_> = (1..=3).map(|number| Record::Guild(a_guild(number))).collect();
    records.extend((1..=3).map(|number| Record::Member(a_member(number, 7, &[number]))));
    records.extend([
        Record::Subscription(a_subscription(7, &[1])),
        Record::Subscription(a_subscription(8, &[2])),
    ]);
    records.extend([Record::Staff(user_id(7), staff()), Record::Staff(user_id(8), staff())]);
    records.push(Record::Blocked(user_id(13)));
    records.extend(entries().into_iter().map(Record::Feedback));
    records.extend([1, 2].map(|user| Record::Team(a_team_member(user, "Board", 1))));
    records.extend([7, 8].map(|user| Record::Session(a_session(user, u64::from(user), at(1)))));
    records.push(Record::Grant(user_id(7), grant(Some(b"sealed"))));
    records.push(Record::Grant(user_id(8), grant(None)));
    records
}

async fn sync(storage: &DieselStorage, kinds: &[Kind]) -> Tally {
    let replace = Replace { kinds: kinds.iter().copied().collect(), shard: None };
    storage.sync(&replace, &mut Stream::of(world())).await.unwrap().tally
}

async fn exported(storage: &DieselStorage) -> Vec<String> {
    let mut kept = Collected::default();
    storage.export(&mut kept).await.unwrap();
    let mut texts: Vec<_> = kept.0.iter().map(|record| format!("{record:?}")).collect();
    texts.sort();
    texts
}

fn texts(records: impl IntoIterator<Item = Record>) -> Vec<String> {
    let mut texts: Vec<_> = records.into_iter().map(|record| format!("{record:?}")).collect();
    texts.sort();
    texts
}

/// Opens a storage that holds the sample world and two clusters.
async fn filled(place: &impl Place) -> DieselStorage {
    let storage = place.open().await;
    sync(&storage, &[]).await;
    for cluster in ["a", "b"] {
        storage.write(Mutation::Report(a_heartbeat(cluster, at(10)))).await.unwrap();
    }
    storage
}

pub(crate) async fn removes_rows_with_invalid_keys<P: Place>() {
    let place = P::new();
    let storage = filled(&place).await;
    place.run("UPDATE feedback SET id = 'no id', submitter_id = 7 WHERE id = 'f2'");
    place.run("UPDATE clusters SET id = 'no id', report = '{}' WHERE id = 'a'");
    place.run("INSERT INTO members (guild, user_id, roles) VALUES (1, 0, '')");
    let before = storage.latest().await.unwrap();
    // A session, a grant, three members, a subscription, a staff grant and a feedback entry.
    assert_eq!(storage.forget(user_id(7)).await.unwrap().tally.removed, 8);
    assert_eq!(storage.write(Mutation::RemoveSilent(Vec::new())).await.unwrap(), Tally::REMOVED);
    assert_eq!(Records::remove(&storage, Key::Guild(guild_id(1))).await.unwrap(), Tally::REMOVED);
    let kept = exported(&storage).await;
    for (kind, expected) in [("Guild(", 2), ("Member(", 0), ("Feedback(", 6)] {
        assert_eq!(kept.iter().filter(|text| text.starts_with(kind)).count(), expected, "{kind} {kept:?}");
    }
    let told = storage.since(before).await.unwrap();
    let named =
        |changes: &[Change]| changes.iter().any(|change| change.subject == Subject::Many(Kind::Feedback));
    assert!(matches!(&told, Changes::Listed(changes) if named(changes)), "{told:?}");
}

pub(crate) async fn a_sync_removes_rows_with_invalid_keys<P: Place>() {
    let place = P::new();
    let storage = filled(&place).await;
    place.run("UPDATE feedback SET id = 'no id' WHERE id = 'f1'");
    place.run(&P::in_dialect(
        "INSERT INTO sessions (id, user_id, created_at, last_seen_at) VALUES (X'00ff', 7, 1, 1)",
    ));
    let tally = sync(&storage, &[Kind::Feedback, Kind::Session]).await;
    assert_eq!(tally, Tally { added: 1, changed: 0, removed: 2 });
    assert_eq!(exported(&storage).await, texts(world()));
}

async fn picked(storage: &DieselStorage, chance: &SeededEntropy) -> Vec<String> {
    let entries = storage.pick_positive(5, chance.seed()).await.unwrap();
    let ids: Vec<_> = entries.iter().map(|entry| entry.id.to_string()).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    ids
}

pub(crate) async fn picks_readable_entries_with_equal_probability<P: Place>() {
    let place = P::new();
    let storage = place.open().await;
    let entries = (0..200).map(|number| Record::Feedback(a_feedback(&format!("f{number:03}"), 5)));
    storage.sync(&Replace::default(), &mut Stream::of(entries)).await.unwrap();
    // Ten of two hundred entries stay readable.
    place.run(
        "UPDATE feedback SET submitter_avatar = 'https://user@cdn.example/old.png' WHERE id NOT LIKE '%7_'",
    );
    place
        .run("UPDATE feedback SET submitter_avatar = 'https://user@cdn.example/old.png' WHERE id LIKE 'f0%'");
    let chance = SeededEntropy::default();
    let mut shown = BTreeMap::<_, u32>::new();
    for _ in 0..60 {
        let ids = picked(&storage, &chance).await;
        assert_eq!(ids.len(), 5);
        for id in ids {
            *shown.entry(id).or_default() += 1;
        }
    }
    assert_eq!(shown.len(), 10, "{shown:?}");
    assert!(shown.values().all(|times| (15..=45).contains(times)), "{shown:?}");
}

pub(crate) async fn unreadable_entries_do_not_shorten_a_page<P: Place>() {
    let place = P::new();
    let storage = filled(&place).await;
    place.run(
        "UPDATE feedback SET submitter_avatar = 'https://user@cdn.example/old.png' WHERE id IN ('f1', 'f2', 'f4')",
    );
    let page = async |after: Option<&str>| {
        let after = after.map(|id| id.parse().unwrap());
        let page = storage.positive_after(after.as_ref(), NonZeroU32::new(2).unwrap()).await.unwrap();
        page.iter().map(|entry| entry.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(page(None).await, ["f3", "f5"]);
    assert_eq!(page(Some("f5")).await, ["f6", "f7"]);
    assert_eq!(page(Some("f7")).await, [""; 0]);
}

pub(crate) async fn skips_a_gap_among_the_slots<P: Place>() {
    let place = P::new();
    let storage = filled(&place).await;
    place.run("DELETE FROM feedback WHERE id = 'f3'");
    let chance = SeededEntropy::default();
    for _ in 0..20 {
        assert_eq!(picked(&storage, &chance).await.len(), 5);
    }
}

pub(crate) async fn an_invalid_user_id_does_not_shorten_a_page<P: Place>() {
    let place = P::new();
    let storage = filled(&place).await;
    place.run("INSERT INTO grants (user_id, version) VALUES (0, 1)");
    assert_eq!(storage.holders(None, NonZeroU32::MIN).await.unwrap(), [user_id(7)]);
    assert_eq!(storage.unused(None, NonZeroU32::MIN).await.unwrap(), []);
}

pub(crate) async fn an_unreadable_change_covers_its_kind_or_yields_a_gap<P: Place>() {
    let place = P::new();
    let storage = filled(&place).await;
    let before = storage.latest().await.unwrap();
    storage.put(Record::Guild(a_guild(50))).await.unwrap();
    place.run("UPDATE changes SET subject = 'canary' WHERE subject = '50'");
    let told = storage.since(before).await.unwrap();
    let revision = Revision(before.0 + 1);
    assert_eq!(told, Changes::Listed(vec![Change { revision, subject: Subject::Many(Kind::Guild) }]));
    place.run("UPDATE changes SET kind = 'dragon' WHERE subject = 'canary'");
    assert_eq!(storage.since(before).await.unwrap(), Changes::Gap(revision));
}

pub(crate) async fn counts_unreadable_rows_and_removes_unreadable_reports<P: Place>() {
    let place = P::new();
    let storage = filled(&place).await;
    place.run("UPDATE clusters SET report = '{}' WHERE id = 'a'");
    let before = storage.latest().await.unwrap();
    assert_eq!(storage.write(Mutation::RemoveSilent(Vec::new())).await.unwrap(), Tally::REMOVED);
    let Changes::Listed(changes) = storage.since(before).await.unwrap() else { panic!("a gap") };
    let gone: Vec<_> = changes.into_iter().map(|change| change.subject).collect();
    assert_eq!(gone, [Subject::Cluster("a".parse().unwrap())]);
    let clusters = storage.clusters().await.unwrap();
    assert_eq!(clusters.iter().map(|heartbeat| heartbeat.cluster.as_str()).collect::<Vec<_>>(), ["b"]);
    assert!(storage.unreadable_rows().contains(&("clusters", 0)), "there is nothing left to leave out");
    storage.write(Mutation::Report(a_heartbeat("c", at(10)))).await.unwrap();
    place.run("UPDATE clusters SET report = 'canary' WHERE id = 'c'; UPDATE guilds SET bindings = 'canary' WHERE id = 1");
    exported(&storage).await;
    storage.clusters().await.unwrap();
    // A member belongs to the unreadable guild.
    for count in [("clusters", 1), ("guilds", 1), ("members", 1), ("team", 0)] {
        assert!(storage.unreadable_rows().contains(&count), "{:?}", storage.unreadable_rows());
    }
    let silent = Mutation::RemoveSilent(vec![("b".parse().unwrap(), at(10))]);
    assert_eq!(storage.write(silent.clone()).await.unwrap(), Tally { removed: 2, ..Tally::NOTHING });
    assert_eq!(storage.write(silent).await.unwrap(), Tally::NOTHING);
}

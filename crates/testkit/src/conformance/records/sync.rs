//! What a sync adds, counts and removes, and its atomicity.

use super::{
    common::{add, added, assert_same, by_key, contents, everything, replace, replacing, try_sync},
    kinds::two_of_each,
};
use crate::conformance::{
    Fresh, Stores,
    concurrency::CALLERS,
    prepared::{begin, granted},
    sample::{
        BEYOND_SIGNED, LOTS, at, feedback, grant, guild, guild_id, guild_id_in, member, name, session, staff,
        subscription, team_member, user_id,
    },
    stream::Stream,
};
use async_trait::async_trait;
use companion_domain::{
    change::{Key, Kind, Tally},
    model::{Guild, GuildId, StaffPermission},
    port::{
        ClaimAfter, Claimed, Grant, GrantVersion, ListingScope, Numbered, Record, RecordSource, Replace,
        ShardSlice, SourceError, SyncError,
    },
    session::Session,
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// In reverse, so that every member precedes its guild, in another batch and in the same one.
pub(super) async fn a_sync_adds_every_kind_in_any_order(fresh: &Fresh<Stores>) {
    let (records, user) = (two_of_each(), user_id(1));
    assert_eq!(add(&fresh.one, vec![]).await, Tally::NOTHING);
    assert_eq!(add(&fresh.one, records.iter().rev().cloned().collect()).await, added(records.len() as u64));
    for record in &records {
        assert_eq!(add(&fresh.one, vec![record.clone()]).await, Tally::NOTHING, "omitted records stay");
    }
    fresh.settle().await;
    let stores = &fresh.other;
    assert_eq!(contents(stores).await, by_key(records.clone()));
    for record in records {
        assert_eq!(stores.records.find(&record.key()).await.unwrap(), Some(record));
    }
    let listing = stores.listings().read(user, ListingScope::Guild(guild_id(2))).await.unwrap();
    let subscribed = Arc::new(subscription(user, [1, 2], 3));
    assert_eq!(listing.subscription.as_ref(), Some(&subscribed));
    assert_eq!(
        (&*listing.guild_subscriptions, listing.staff),
        (&[subscribed][..], staff([StaffPermission::Support]))
    );
    assert!(stores.blocked.is_blocked(user_id(8)).await.unwrap());
    assert_eq!(stores.sessions.of_user(user).await.unwrap(), [session(1, user, at(1))]);
}

pub(super) async fn the_last_record_of_a_key_wins_and_the_tally_is_exact(fresh: &Fresh<Stores>) {
    let user = user_id(1);
    let other_versions = vec![
        Record::Guild(Guild { name: name("Old"), ..guild(guild_id(1)) }),
        Record::Member(member(guild_id(1), user, &[9])),
        Record::Subscription(subscription(user, [9], 9)),
        Record::Staff(user, staff([StaffPermission::Executive])),
        Record::Feedback(feedback("one", 1, user_id(3))),
        Record::Team(team_member(user, "Core", 99)),
        Record::Session(Session { last_seen_at: at(99), ..session(1, user, at(1)) }),
        Record::Grant(user, Grant { version: GrantVersion(1), content: grant(9) }),
    ];
    // Duplicates far apart, within one batch, and of stored records.
    let twice = [other_versions.clone(), other_versions.clone(), two_of_each()].concat();
    let tally = add(&fresh.one, twice.clone()).await;
    assert_eq!(tally, added(two_of_each().len() as u64), "a key counts once however often it comes");
    assert_eq!(contents(&fresh.one).await, by_key(two_of_each()));
    let tally = try_sync(&fresh.one, &everything(), Stream::of(twice)).await.unwrap();
    assert_eq!(tally, Tally::NOTHING, "what is the same in the end has not changed");
    assert_eq!(contents(&fresh.one).await, by_key(two_of_each()));
    let kinds = replacing([Kind::Feedback, Kind::Team, Kind::Blocked]);
    let sent = [other_versions, [7, 8].map(|user| Record::Blocked(user_id(user))).to_vec()].concat();
    let tally = try_sync(&fresh.one, &kinds, Stream::in_batches(sent, 4)).await.unwrap();
    // Each other version is a change, and block 7 is new. Feedback two, team member 2 and block 9 are gone.
    assert_eq!(tally, Tally { added: 1, changed: 8, removed: 3 });
}

pub(super) async fn an_imported_grant_keeps_its_version(fresh: &Fresh<Stores>) {
    let (grants, user) = (&fresh.one.grants, user_id(1));
    let imported = Grant { version: GrantVersion(41), content: grant(1) };
    add(&fresh.one, vec![Record::Grant(user, imported.clone())]).await;
    let update = async |version| grants.update(user, version, &grant(2), ClaimAfter::Released).await;
    assert!(update(GrantVersion(40)).await.is_err());
    let claimed = grants.claim_refresh(user, imported.version, at(10), None).await.unwrap();
    assert_eq!(claimed, Claimed::Granted);
    let updated = update(imported.version).await.unwrap();
    assert!(updated > imported.version);
    assert!(granted(&fresh.one, user, &grant(3)).await > updated);
}

pub(super) async fn each_kind_is_replaced_alone(fresh: &Fresh<Stores>) {
    for kind in everything().kinds {
        add(&fresh.one, two_of_each()).await;
        let mut expected = two_of_each();
        // The second record of each kind is left out, and what belongs to it if it is a guild.
        let left_out = expected.iter().rposition(|record| record.kind() == kind).unwrap();
        let gone = expected.remove(left_out);
        let gone = if let Record::Guild(guild) = gone { Some(guild.id) } else { None };
        expected.retain(|record| gone.is_none() || record.key().guild() != gone);
        let sent = expected.iter().filter(|record| record.kind() == kind).cloned().collect();
        assert_eq!(replace(&fresh.one, &replacing([kind]), sent).await, Tally::REMOVED, "{kind:?}");
        assert_eq!(contents(&fresh.one).await, by_key(expected), "{kind:?}");
    }
}

fn with_member(id: GuildId) -> [Record; 2] {
    [Record::Guild(guild(id)), Record::Member(member(id, user_id(1), &[1]))]
}

/// It limits what belongs to guilds. All else is replaced as without a shard.
pub(super) async fn a_shard_replaces_only_its_own_guilds(fresh: &Fresh<Stores>) {
    // Also with ids above the signed range: 2^63 belongs to shard 2 of 3.
    let large = [BEYOND_SIGNED, BEYOND_SIGNED + (1 << 22)].map(guild_id);
    let guilds: Vec<_> = (0..9).map(|number| guild_id_in(number, number + 1)).chain(large).collect();
    let guild_of = |record: &Record| match record.key() {
        Key::Guild(id) => Some(id),
        key => key.guild(),
    };
    for index in 0..3 {
        let world = two_of_each().into_iter().chain(guilds.iter().flat_map(|id| with_member(*id)));
        let world: Vec<_> = world.collect();
        add(&fresh.one, world.clone()).await;
        let slice = ShardSlice::new(index, 3).unwrap();
        let mut mine = guilds.iter().copied().filter(|id| slice.has(*id));
        // The shard keeps one guild without its member, one unchanged, and removes the others. A guild of another shard
        // is added all the same.
        let (emptied, kept) = (mine.next().unwrap(), mine.next().unwrap());
        let foreign = guild_id_in(u64::from(index) + 1, 77);
        let mut sent =
            vec![Record::Subscription(subscription(user_id(1), [1], 5)), Record::Guild(guild(emptied))];
        sent.extend([with_member(kept), with_member(foreign)].concat());
        replace(&fresh.one, &Replace { shard: Some(slice), ..everything() }, sent.clone()).await;
        let stays = |record: &Record| match guild_of(record) {
            Some(guild) => !slice.has(guild),
            None => record.kind().replaced().is_none(),
        };
        let expected = by_key(world.into_iter().filter(stays).chain(sent).collect());
        assert_eq!(contents(&fresh.one).await, expected, "shard {index} of 3");
        fresh.one.records.remove(Key::Guild(foreign)).await.unwrap();
    }
}

pub(super) async fn replaces_very_many_records(fresh: &Fresh<Stores>) {
    let world = |first: u64, count: u64| -> Vec<_> {
        let records = (first..first + count).flat_map(|number| {
            let (id, user) = (guild_id(number), user_id(number));
            [
                Record::Guild(guild(id)),
                Record::Member(member(id, user_id(1), &[number])),
                Record::Subscription(subscription(user, [number], 1)),
                Record::Staff(user, staff([StaffPermission::Support])),
                Record::Blocked(user),
                Record::Feedback(feedback(&format!("f-{number}"), 5, user)),
            ]
        });
        records.collect()
    };
    // Members are removed with their guilds, counted or not.
    for (first, count, removed) in [(1, LOTS, 0..=0), (10_000, 10, 5 * LOTS..=6 * LOTS)] {
        let mut stream = Stream::in_batches(world(first, count), 700);
        let tally = fresh.one.records.sync(&everything(), &mut stream).await.unwrap().tally;
        assert!(removed.contains(&tally.removed), "{tally:?}");
        assert_eq!((tally.added, tally.changed), (6 * count, 0));
        assert_same(&contents(&fresh.one).await, &by_key(world(first, count)));
    }
}

/// Returns records that change something of every kind.
fn upheaval() -> Vec<Record> {
    vec![
        Record::Guild(Guild { name: name("Changed"), ..guild(guild_id(1)) }),
        Record::Guild(guild(guild_id(3))),
        Record::Member(member(guild_id(3), user_id(1), &[1])),
        Record::Member(member(guild_id(1), user_id(1), &[])),
        Record::Blocked(user_id(1)),
        Record::Feedback(feedback("three", 5, user_id(1))),
        Record::Team(team_member(user_id(3), "Core", 1)),
    ]
}

pub(super) async fn a_failed_stream_changes_nothing(fresh: &Fresh<Stores>) {
    add(&fresh.one, two_of_each()).await;
    let before = fresh.one.changes.latest().await.unwrap();
    let lost = |guild| Record::Member(member(guild_id(guild), user_id(1), &[1]));
    // Line numbers have gaps, because a reader may skip lines.
    let lines = (20..).step_by(3).zip([upheaval(), vec![lost(99), lost(98), lost(97)]].concat());
    for at_a_time in [1, 3, 100] {
        let cut = || Stream::in_batches(upheaval(), at_a_time).failing("the stream was cut");
        for (kinds, stream, expected) in [
            (Replace::default(), cut(), "the stream was cut"),
            (everything(), cut(), "the stream was cut"),
            (everything(), Stream::numbered(lines.clone(), at_a_time), "guild 99 on line 41"),
        ] {
            let refused = match try_sync(&fresh.one, &kinds, stream).await {
                Err(SyncError::Source(cause)) => cause.to_string(),
                Err(SyncError::UnknownGuild { line, guild }) => format!("guild {guild} on line {line}"),
                other => panic!("{other:?}"),
            };
            assert_eq!(refused, expected);
            fresh.settle().await;
            assert_eq!(contents(&fresh.other).await, by_key(two_of_each()));
        }
    }
    let empty = Stream::of(vec![]).failing("cut at once");
    assert!(try_sync(&fresh.one, &everything(), empty).await.is_err());
    assert_eq!(contents(&fresh.one).await, by_key(two_of_each()));
    assert_eq!(fresh.one.changes.latest().await.unwrap(), before, "and nothing is said to have changed");
}

/// Uses the store between batches: reads everything, checks its health and writes.
struct Interrupting {
    stream: Stream,
    stores: Arc<Stores>,
    expected: BTreeMap<Key, Record>,
    times: u64,
}

#[async_trait]
impl RecordSource for Interrupting {
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError> {
        assert_eq!(
            contents(&self.stores).await,
            self.expected,
            "the previous state, and what was written since"
        );
        assert!(!self.stores.blocked.is_blocked(user_id(1)).await.map_err(SourceError::broken)?);
        self.stores.health.check().await.map_err(SourceError::broken)?;
        self.times += 1;
        let user = user_id(self.times);
        let (granted, made) =
            (Record::Staff(user, staff([StaffPermission::Support])), session(self.times, user, at(1)));
        self.stores.records.put(granted.clone()).await.unwrap();
        begin(&self.stores, &made, &grant(1)).await;
        let grant = self.stores.grants.find(user).await.unwrap().unwrap();
        self.expected.extend(by_key(vec![granted, Record::Session(made), Record::Grant(user, grant)]));
        self.stream.next().await
    }
}

pub(super) async fn readers_and_writers_proceed_during_a_sync(fresh: &Fresh<Stores>) {
    add(&fresh.one, two_of_each()).await;
    let before = fresh.one.changes.latest().await.unwrap();
    fresh.one.health.check().await.unwrap();
    assert_eq!(fresh.other.changes.latest().await.unwrap(), before, "asking is no change");
    for (times, stores) in [(100, &fresh.one), (200, &fresh.other)] {
        add(&fresh.one, two_of_each()).await;
        fresh.one.records.remove(Key::Blocked(user_id(1))).await.unwrap();
        fresh.settle().await;
        let expected = contents(stores).await;
        let stream = Stream::in_batches(upheaval(), 2);
        let mut source = Interrupting { stream, stores: Arc::clone(stores), expected, times };
        let replace = Replace::default();
        let synced = fresh.one.records.sync(&replace, &mut source);
        // A sync that waits for its own reader or writer would never finish.
        tokio::time::timeout(Duration::from_secs(20), synced).await.unwrap().unwrap();
        fresh.settle().await;
        let mut expected = source.expected;
        expected.extend(by_key(upheaval()));
        assert_eq!(contents(stores).await, expected, "what was written meanwhile stays");
    }
}

pub(super) async fn concurrent_replacing_syncs_leave_one_complete(fresh: &Fresh<Stores>) {
    let records = |number: u64| -> Vec<_> {
        let guilds = (1..=5).map(move |place| Record::Guild(guild(guild_id(number % 3 * 10 + place))));
        let team = (1..=3).map(move |place| {
            Record::Team(team_member(user_id(place), "Core", i32::try_from(number).unwrap()))
        });
        guilds.chain(team).collect()
    };
    fresh
        .concurrently(move |number, stores| async move {
            replace(&stores, &everything(), records(number)).await;
        })
        .await;
    let left = contents(&fresh.one).await;
    assert!((0..CALLERS).any(|number| left == by_key(records(number))), "a mixture: {left:?}");
}

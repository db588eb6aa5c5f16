//! Atomicity of a sync.

use super::common::{add, by_key, contents, put, replace, replaceable, replacing, try_sync, two_of_each};
use crate::conformance::{
    Fresh, Stores,
    concurrency::CALLERS,
    sample::{at, feedback, guild, guild_id, member, name, session, staff, team_member, user_id},
    stream::Stream,
};
use async_trait::async_trait;
use companion_domain::{
    change::Key,
    model::{Guild, StaffPermission},
    port::{Numbered, Record, RecordSource, Replace, SourceError, SyncError},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::sync::Notify;

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
    for kinds in [replacing([]), replacing(replaceable())] {
        for at_a_time in [1, 3, 100] {
            let stream = Stream::in_batches(upheaval(), at_a_time).failing("the stream was cut");
            match try_sync(&fresh.one, &kinds, stream).await {
                Err(SyncError::Source(cause)) => assert_eq!(cause.to_string(), "the stream was cut"),
                other => assert!(matches!(other, Err(SyncError::Source(_))), "{other:?}"),
            }
            fresh.settle().await;
            assert_eq!(contents(&fresh.other).await, by_key(two_of_each()));
        }
    }
    let empty = Stream::of(vec![]).failing("cut at once");
    assert!(try_sync(&fresh.one, &replacing(replaceable()), empty).await.is_err());
    assert_eq!(contents(&fresh.one).await, by_key(two_of_each()));
    assert_eq!(fresh.one.changes.latest().await.unwrap(), before, "and nothing is said to have changed");
}

pub(super) async fn an_unknown_guild_is_reported_with_its_line(fresh: &Fresh<Stores>) {
    add(&fresh.one, two_of_each()).await;
    let before = fresh.one.changes.latest().await.unwrap();
    let lost = |guild| Record::Member(member(guild_id(guild), user_id(1), &[1]));
    // Line numbers have gaps, because a reader may skip lines.
    let lines = (20..).step_by(3).zip([upheaval(), vec![lost(99), lost(98), lost(97)]].concat());
    for at_a_time in [1, 4, 100] {
        let stream = Stream::numbered(lines.clone(), at_a_time);
        match try_sync(&fresh.one, &replacing(replaceable()), stream).await {
            Err(SyncError::UnknownGuild { line, guild }) => assert_eq!((line, guild), (41, guild_id(99))),
            other => assert!(matches!(other, Err(SyncError::UnknownGuild { .. })), "{other:?}"),
        }
        fresh.settle().await;
        assert_eq!(contents(&fresh.other).await, by_key(two_of_each()));
    }
    assert_eq!(fresh.one.changes.latest().await.unwrap(), before);
}

/// Returns one batch, then signals the next request and never answers it.
struct Stalled {
    first: Option<Vec<Numbered>>,
    asked: Arc<Notify>,
}

#[async_trait]
impl RecordSource for Stalled {
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError> {
        if let Some(batch) = self.first.take() {
            return Ok(Some(batch));
        }
        self.asked.notify_one();
        std::future::pending().await
    }
}

pub(super) async fn a_cancelled_sync_changes_nothing(fresh: &Fresh<Stores>) {
    add(&fresh.one, two_of_each()).await;
    let records = (1..).zip(upheaval()).map(|(line, record)| Numbered { line, record });
    let asked = Arc::new(Notify::new());
    let mut source = Stalled { first: Some(records.collect()), asked: Arc::clone(&asked) };
    let everything = replacing(replaceable());
    tokio::select! {
        ended = fresh.one.records.sync(&everything, &mut source) => assert!(ended.is_err(), "the stream had no end"),
        () = asked.notified() => {}
    }
    fresh.settle().await;
    assert_eq!(contents(&fresh.other).await, by_key(two_of_each()));
    // The next writer is not blocked by it.
    replace(&fresh.one, &everything, vec![]).await;
    assert_eq!(fresh.one.records.find(&Key::Guild(guild_id(1))).await.unwrap(), None);
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
        let written = [
            Record::Staff(user, staff([StaffPermission::Support])),
            Record::Session(session(self.times, user, at(1))),
        ];
        for record in &written {
            put(&self.stores, record).await;
        }
        self.expected.extend(by_key(written.to_vec()));
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

pub(super) async fn concurrent_syncs_are_never_lost(fresh: &Fresh<Stores>) {
    let records = |number: u64| {
        vec![
            Record::Member(member(guild_id(number + 1), user_id(1), &[1])),
            Record::Guild(guild(guild_id(number + 1))),
            Record::Feedback(feedback(&format!("f{number}"), 5, user_id(1))),
            Record::Blocked(user_id(number + 1)),
        ]
    };
    let tallies =
        fresh.concurrently(move |number, stores| async move { add(&stores, records(number)).await }).await;
    assert!(tallies.iter().all(|tally| tally.added == 4));
    assert_eq!(contents(&fresh.one).await, by_key((0..CALLERS).flat_map(records).collect()));
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
            let kinds = replacing(replaceable());
            replace(&stores, &Replace { shard: None, ..kinds }, records(number)).await;
        })
        .await;
    let left = contents(&fresh.one).await;
    assert!((0..CALLERS).any(|number| left == by_key(records(number))), "a mixture: {left:?}");
}

//! Atomicity of a sync.

use super::common::{add, by_key, contents, replace, replaceable, replacing, try_sync, two_of_each};
use crate::conformance::{
    Fresh, Stores,
    concurrency::CALLERS,
    sample::{
        NONE_OVER, TEN, at, feedback, guild, guild_id, member, name, session, staff, team_member, user_id,
    },
    stream::Stream,
};
use async_trait::async_trait;
use companion_domain::{
    change::Key,
    model::{Guild, StaffPermission},
    port::{Numbered, Record, RecordSource, Replace, SourceError, SyncError},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
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
            let stream = Stream::of(upheaval(), at_a_time).failing("the stream was cut");
            match try_sync(&fresh.one, &kinds, stream).await {
                Err(SyncError::Source(cause)) => assert_eq!(cause.to_string(), "the stream was cut"),
                other => assert!(matches!(other, Err(SyncError::Source(_))), "{other:?}"),
            }
            fresh.settle().await;
            assert_eq!(contents(&fresh.other).await, by_key(two_of_each()));
        }
    }
    let empty = Stream::of(vec![], 1).failing("cut at once");
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

/// Reads the store between batches.
struct Looking {
    stream: Stream,
    stores: Arc<Stores>,
}

#[async_trait]
impl RecordSource for Looking {
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError> {
        assert_eq!(contents(&self.stores).await, by_key(two_of_each()));
        assert_eq!(
            self.stores.records.find(&Key::Guild(guild_id(3))).await.map_err(SourceError::broken)?,
            None
        );
        assert!(!self.stores.blocked.is_blocked(user_id(1)).await.map_err(SourceError::broken)?);
        self.stream.next().await
    }
}

pub(super) async fn readers_see_the_previous_state_during_a_sync(fresh: &Fresh<Stores>) {
    add(&fresh.one, two_of_each()).await;
    for stores in [&fresh.one, &fresh.other] {
        fresh.settle().await;
        let mut looking = Looking { stream: Stream::of(upheaval(), 2), stores: Arc::clone(stores) };
        let everything = replacing(replaceable());
        let synced = fresh.one.records.sync(&everything, &mut looking);
        // A sync that waits for its own reader would never finish.
        tokio::time::timeout(Duration::from_secs(20), synced).await.unwrap().unwrap();
        fresh.settle().await;
        assert!(stores.blocked.is_blocked(user_id(1)).await.unwrap(), "once it is answered, it is there");
        replace(&fresh.one, &everything, two_of_each()).await;
    }
}

/// Writes to the store between batches, and checks its health.
struct Writing {
    stream: Stream,
    stores: Arc<Stores>,
    times: u64,
}

#[async_trait]
impl RecordSource for Writing {
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError> {
        self.times += 1;
        self.stores.health.check().await.map_err(SourceError::broken)?;
        self.stores
            .records
            .put(Record::Staff(user_id(self.times), staff([StaffPermission::Support])))
            .await
            .map_err(SourceError::broken)?;
        let session = session(self.times, user_id(self.times), at(1));
        self.stores.sessions.create(&session, TEN, NONE_OVER).await.map_err(SourceError::broken)?;
        self.stream.next().await
    }
}

pub(super) async fn a_store_accepts_writes_during_a_sync(fresh: &Fresh<Stores>) {
    add(&fresh.one, two_of_each()).await;
    let before = fresh.one.changes.latest().await.unwrap();
    fresh.one.health.check().await.unwrap();
    assert_eq!(fresh.other.changes.latest().await.unwrap(), before, "asking is no change");
    for (first, stores) in [(100, &fresh.one), (200, &fresh.other)] {
        let stream = Stream::of(upheaval(), 2);
        let mut writing = Writing { stream, stores: Arc::clone(stores), times: first };
        let replace = Replace::default();
        let synced = fresh.one.records.sync(&replace, &mut writing);
        // A sync that blocks the writer it waits for would never finish.
        tokio::time::timeout(Duration::from_secs(20), synced).await.unwrap().unwrap();
        let last = user_id(writing.times);
        fresh.settle().await;
        assert!(
            fresh.one.records.find(&Key::Staff(last)).await.unwrap().is_some(),
            "what was written meanwhile stays"
        );
        assert_eq!(fresh.one.sessions.of_user(last).await.unwrap().len(), 1);
        assert!(fresh.one.records.find(&Key::Guild(guild_id(3))).await.unwrap().is_some());
    }
}

pub(super) async fn readers_never_see_a_partial_sync(fresh: &Fresh<Stores>) {
    let named = |text: &str| -> Vec<_> {
        let guild = |id| Record::Guild(Guild { name: name(text), ..guild(guild_id(id)) });
        (1..=20).map(guild).collect()
    };
    add(&fresh.one, named("Name 0")).await;
    fresh.settle().await;
    let (done, reads) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (stores, stop, read) = (Arc::clone(&fresh.other), Arc::clone(&done), Arc::clone(&reads));
    let reader = tokio::spawn(async move {
        let ids: Vec<_> = (1..=20).map(guild_id).collect();
        while !stop.load(Ordering::Relaxed) {
            let mut names: Vec<_> = stores
                .guilds
                .with_roles(user_id(1), &ids)
                .await
                .unwrap()
                .iter()
                .map(|seen| seen.guild.name.clone())
                .collect();
            assert_eq!(names.len(), ids.len());
            names.dedup();
            assert_eq!(names.len(), 1, "all guilds have the name that one sync gave them");
            read.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
        }
    });
    // Until both reader and writer have run often enough.
    for round in 1.. {
        add(&fresh.one, named(&format!("Name {round}"))).await;
        if (round > 20 && reads.load(Ordering::SeqCst) > 20) || reader.is_finished() {
            break;
        }
        tokio::task::yield_now().await;
    }
    done.store(true, Ordering::Relaxed);
    reader.await.unwrap();
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

//! The contract of a [`ChangeFeed`](companion_domain::port::ChangeFeed) about all writes.

use super::{
    Fresh, Stores,
    concurrency::{CALLERS, all_of, cancelled},
    prepared::{add_sessions, granted},
    records::{KEYED, is_of, replacing, two_of_each},
    sample::{
        LOTS, NONE_ENDED, TEN, at, cluster_id, feedback, grant, guild, guild_id, heartbeat, member, session,
        team_member, token_hash, user_id,
    },
    stream::Stream,
};
use companion_domain::{
    change::{Applied, Change, Changes, Key, Kind, Revision, Subject, Tally},
    model::Roster,
    port::{ClaimAfter, GrantVersion, Mutation, Record},
    session::{Cutoffs, Uses},
};
use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

suite! {
    /// Generates one test per behaviour of a `ChangeFeed`. It needs all storage ports.
    change_feed_conformance($): change_feed, Stores;
    changes_are_listed_once_in_order_from_any_known_revision,
    a_follower_of_many_writers_misses_no_change,
    lists_very_many_changes,
    a_write_returns_and_lists_its_changes_once,
    a_sync_and_forgetting_list_what_they_changed,
    a_cancelled_write_is_listed_if_it_was_applied,
    lists_ended_and_rewound_sessions,
    lists_changes_of_grants,
}

/// Returns the changes after a revision that the history still has.
async fn since(stores: &Stores, revision: Revision) -> Vec<Change> {
    match stores.changes.since(revision).await.unwrap() {
        Changes::Listed(changes) => changes,
        gap @ Changes::Gap(_) => panic!("the history is lost too soon: {gap:?}"),
    }
}

/// Returns the changes of a write, as seen through the other handle, and its result.
async fn changes_of<T>(fresh: &Fresh<Stores>, write: impl AsyncFnOnce(&Stores) -> T) -> (Vec<Change>, T) {
    let before = fresh.other.changes.latest().await.unwrap();
    let result = write(&fresh.one).await;
    let changes = since(&fresh.other, before).await;
    assert!(changes.iter().all(|change| change.revision > before));
    let latest = fresh.other.changes.latest().await.unwrap();
    assert_eq!(changes.last().map_or(before, |change| change.revision), latest);
    (changes, result)
}

fn subjects(changes: Vec<Change>) -> Vec<Subject> {
    changes.into_iter().map(|change| change.subject).collect()
}

/// Returns the subjects of a write, as seen through the other handle.
pub(super) async fn subjects_of<T>(
    fresh: &Fresh<Stores>,
    write: impl AsyncFnOnce(&Stores) -> T,
) -> Vec<Subject> {
    subjects(changes_of(fresh, write).await.0)
}

/// Returns the subjects of a write of records. Asserts that it returned what is listed.
async fn applied(fresh: &Fresh<Stores>, write: impl AsyncFnOnce(&Stores) -> Applied) -> Vec<Subject> {
    let (listed, applied) = changes_of(fresh, write).await;
    assert_eq!(listed, applied.changes);
    assert_eq!(listed.is_empty(), applied.tally == Tally::NOTHING, "{applied:?}");
    subjects(listed)
}

/// Makes writes of different kinds, and returns their subjects in order.
async fn write_some(stores: &Stores) -> Vec<Subject> {
    let mut expected = Vec::new();
    for number in 1..=10 {
        for record in [
            Record::Guild(guild(guild_id(number))),
            Record::Feedback(feedback(&format!("f{number}"), 5, user_id(1))),
            Record::Blocked(user_id(number)),
        ] {
            expected.push(record.key().subject());
            stores.records.put(record).await.unwrap();
        }
    }
    stores.records.remove(Key::Guild(guild_id(1))).await.unwrap();
    expected.push(Subject::Guild(guild_id(1)));
    expected
}

async fn changes_are_listed_once_in_order_from_any_known_revision(fresh: &Fresh<Stores>) {
    assert_eq!(fresh.one.changes.latest().await.unwrap(), Revision::default());
    assert_eq!(since(&fresh.one, Revision::default()).await, []);
    let unknown_are_gaps = async |latest: Revision| {
        for ahead in [Revision(latest.0 + 1), Revision(latest.0 + 100_000), Revision(u64::MAX)] {
            let changes = fresh.one.changes.since(ahead).await.unwrap();
            assert_eq!(changes, Changes::Gap(latest), "since {ahead:?}");
        }
    };
    unknown_are_gaps(Revision::default()).await;
    let expected = write_some(&fresh.one).await;
    let all = since(&fresh.other, Revision::default()).await;
    assert!(all.is_sorted_by(|one, two| one.revision < two.revision));
    let latest = fresh.one.changes.latest().await.unwrap();
    assert_eq!(all.last().map(|change| change.revision), Some(latest));
    unknown_are_gaps(latest).await;
    assert_eq!(subjects(all.clone()), expected);
    for (index, change) in all.iter().enumerate() {
        let after: Vec<_> = all.iter().skip(index + 1).cloned().collect();
        assert_eq!(since(&fresh.one, change.revision).await, after, "after {change:?}");
    }
}

/// Revisions are assigned before writes commit, and writes commit in another order. A reader in between must not skip a
/// revision that commits later.
async fn a_follower_of_many_writers_misses_no_change(fresh: &Fresh<Stores>) {
    const EACH: u64 = 10;
    let done = Arc::new(AtomicBool::new(false));
    let (stores, stop) = (Arc::clone(&fresh.other), Arc::clone(&done));
    let subscriber = tokio::spawn(async move {
        let mut read = Vec::new();
        let mut position = Revision::default();
        loop {
            // Loaded before the last read, so that no later change is missed.
            let last = stop.load(Ordering::SeqCst);
            for change in since(&stores, position).await {
                assert!(change.revision > position, "{change:?} comes after {position:?}");
                position = change.revision;
                read.push(change.subject);
            }
            if last {
                return read;
            }
            tokio::task::yield_now().await;
        }
    });
    fresh
        .concurrently(|number, stores| async move {
            for index in 0..EACH {
                stores.records.put(Record::Blocked(user_id(number * EACH + index + 1))).await.unwrap();
            }
        })
        .await;
    done.store(true, Ordering::SeqCst);
    let read = subscriber.await.unwrap();
    let expected: HashSet<_> = (1..=CALLERS * EACH).map(|user| Subject::Blocked(user_id(user))).collect();
    assert_eq!(read.len(), expected.len(), "each once");
    assert_eq!(read.into_iter().collect::<HashSet<_>>(), expected);
}

async fn lists_very_many_changes(fresh: &Fresh<Stores>) {
    let blocked = all_of((1..=LOTS).map(|user| fresh.one.records.put(Record::Blocked(user_id(user))))).await;
    assert!(blocked.into_iter().all(|tally| tally.is_ok()));
    let changes = since(&fresh.other, Revision::default()).await;
    assert!(changes.is_sorted_by(|one, two| one.revision < two.revision));
    let subjects: HashSet<_> = changes.iter().map(|change| change.subject.clone()).collect();
    assert_eq!((changes.len() as u64, subjects.len() as u64), (LOTS, LOTS));

    let user = user_id(1);
    let sessions = (1..=LOTS).map(|number| session(number, user, at(0)));
    add_sessions(&fresh.one, sessions.clone()).await;
    let revoke = async |stores: &Stores| stores.sessions.revoke_user(user).await.unwrap();
    let expected: Vec<_> = sessions.map(Record::Session).collect();
    assert_cover(&subjects_of(fresh, revoke).await, &expected);
}

/// Asserts that exactly these are listed, in any order.
pub(super) fn assert_are(listed: &[Subject], expected: &[Subject]) {
    let same = listed.len() == expected.len() && expected.iter().all(|subject| listed.contains(subject));
    assert!(same, "{listed:?} are not {expected:?}");
}

async fn a_write_returns_and_lists_its_changes_once(fresh: &Fresh<Stores>) {
    let lists = async |batch: Vec<Mutation>, expected: &[Subject]| {
        let write = async |stores: &Stores| stores.records.apply(batch.clone()).await.unwrap();
        assert_are(&applied(fresh, write).await, expected);
        assert_eq!(applied(fresh, write).await, [], "{batch:?} made again");
    };
    for kind in &KEYED {
        kind.prepare(&fresh.one, [1]).await;
        let puts = kind.variants(1).into_iter().take(3).map(Mutation::Put);
        for write in puts.chain([Mutation::Remove(kind.key(1))]) {
            lists(vec![write], &[kind.key(1).subject()]).await;
        }
    }
    let team = Roster::new([1, 2].map(|user| team_member(user_id(user), "Core", 1)).to_vec()).unwrap();
    let silent = [("one", 1), ("two", 1)].map(|(name, time)| (cluster_id(name), at(time))).to_vec();
    let (cluster, user) = (Subject::Cluster(cluster_id("one")), user_id(1));
    let report = |time| Mutation::Report(heartbeat("one", at(time)));
    let several = [Record::Blocked(user), Record::Guild(guild(guild_id(5)))];
    let others = [
        // One change, however many places.
        (vec![Mutation::ReplaceTeam(team)], vec![Subject::Many(Kind::Team)]),
        (vec![Mutation::ReplaceTeam(Roster::default())], vec![Subject::Many(Kind::Team)]),
        (vec![report(0)], vec![cluster.clone()]),
        (vec![report(1)], vec![cluster.clone()]),
        (vec![Mutation::RemoveSilent(silent)], vec![cluster]),
        (several.clone().map(Mutation::Put).to_vec(), several.map(|record| record.key().subject()).to_vec()),
    ];
    for (batch, expected) in others {
        lists(batch, &expected).await;
    }
    fresh.one.records.put(Record::Member(member(guild_id(5), user, &[1]))).await.unwrap();
    let remove = async |stores: &Stores| stores.records.remove(Key::Guild(guild_id(5))).await.unwrap();
    let mut gone = subjects_of(fresh, remove).await;
    // The adapter may list the members too: the removed guild implies them.
    gone.retain(|subject| *subject != Subject::Member(guild_id(5), user));
    assert_eq!(gone, [Subject::Guild(guild_id(5))]);
    assert_eq!(subjects_of(fresh, remove).await, []);
}

/// Asserts that exactly the changes of these records are listed, by name or as one of many.
fn assert_cover<'a>(listed: &[Subject], records: impl IntoIterator<Item = &'a Record>) {
    let expected: Vec<_> = records.into_iter().map(|record| record.key().subject()).collect();
    let many = |subject: &Subject| Subject::Many(subject.kind());
    let is_listed = |subject: &Subject| listed.contains(subject) || listed.contains(&many(subject));
    let is_expected =
        |one: &Subject| expected.contains(one) || expected.iter().any(|subject| many(subject) == *one);
    let same = expected.iter().all(is_listed) && listed.iter().all(is_expected);
    assert!(same, "{listed:?} do not cover {expected:?}");
}

async fn a_sync_and_forgetting_list_what_they_changed(fresh: &Fresh<Stores>) {
    let is_named = |record: &Record| {
        record.kind().replaced().is_some() || matches!(record, Record::Session(_) | Record::Grant(..))
    };
    let mut world: Vec<_> = two_of_each().into_iter().filter(is_named).collect();
    let sync = async |kinds: &[Kind], records: &[Record]| {
        let (replace, mut stream) =
            (replacing(kinds.iter().copied()), Stream::in_batches(records.to_vec(), 3));
        let write = async |stores: &Stores| stores.records.sync(&replace, &mut stream).await.unwrap();
        applied(fresh, write).await
    };
    assert_cover(&sync(&[], &world).await, &world);
    assert_eq!(sync(&[], &world).await, [], "the same again is no change");
    world.push(Record::Blocked(user_id(6)));
    assert_cover(&sync(&[], &world).await, world.last());
    let user = user_id(1);
    let forget = async |stores: &Stores| stores.records.forget(user).await.unwrap();
    let forgotten = applied(fresh, forget).await;
    assert_cover(&forgotten, world.extract_if(.., |record| is_of(user, record)).collect::<Vec<_>>().iter());
    assert_eq!(applied(fresh, forget).await, []);
    let kinds = [Kind::Blocked, Kind::Feedback, Kind::Team];
    assert_cover(&sync(&kinds, &[]).await, world.iter().filter(|record| kinds.contains(&record.kind())));
}

/// Otherwise caches would keep the stale entry for ever.
async fn a_cancelled_write_is_listed_if_it_was_applied(fresh: &Fresh<Stores>) {
    let user = |number: u64| user_id(number + 1);
    let ready = async |_: &Arc<Stores>, _| {};
    let write =
        async |stores: &Arc<Stores>, number| stores.records.put(Record::Blocked(user(number))).await.unwrap();
    let look = async |stores: &Arc<Stores>, number| {
        let told = subjects(since(stores, Revision::default()).await);
        let is_blocked = stores.blocked.is_blocked(user(number)).await.unwrap();
        (told.contains(&Subject::Blocked(user(number))), is_blocked)
    };
    let further =
        async |stores: &Arc<Stores>| stores.records.remove(Key::Blocked(user_id(u64::MAX))).await.unwrap();
    cancelled(fresh, "a block and what is told of it", ready, write, look, further).await;
}

/// Asserts that a write lists exactly these subjects, and nothing if it is made again.
pub(super) async fn lists_once<T>(
    fresh: &Fresh<Stores>,
    expected: &[Subject],
    write: impl AsyncFn(&Stores) -> T,
) {
    assert_are(&subjects_of(fresh, &write).await, expected);
    assert_eq!(subjects_of(fresh, &write).await, [], "made again");
}

async fn lists_ended_and_rewound_sessions(fresh: &Fresh<Stores>) {
    const OVER: Cutoffs = Cutoffs { created: at(5), ..NONE_ENDED };
    let user = user_id(1);
    let about = |number| Subject::Session(token_hash(number));
    add_sessions(&fresh.one, (2..=7).map(|number| session(number, user, at(number.cast_signed())))).await;
    // Uses happen with every request, and would flood the history.
    let used = (token_hash(2), at(9));
    let touch = async |stores: &Stores| stores.sessions.touch(Uses::one(&used)).await.unwrap();
    assert_eq!(subjects_of(fresh, touch).await, []);
    let revoke = async |stores: &Stores| stores.sessions.revoke(&token_hash(2)).await.unwrap();
    lists_once(fresh, &[about(2)], revoke).await;
    let expire = async |stores: &Stores| stores.sessions.expire(&token_hash(3), OVER).await.unwrap();
    lists_once(fresh, &[about(3)], expire).await;
    let prune = async |stores: &Stores| stores.sessions.prune(OVER, TEN).await.unwrap();
    lists_once(fresh, &[4, 5].map(about), prune).await;
    let revoke_user = async |stores: &Stores| stores.sessions.revoke_user(user).await.unwrap();
    lists_once(fresh, &[6, 7].map(about), revoke_user).await;
    // Copies of a session from before a clock reset are dated wrongly.
    add_sessions(&fresh.one, [session(8, user, at(1_000_000_000))]).await;
    let rewind = async |stores: &Stores| stores.sessions.rewind(at(0), TEN).await.unwrap();
    lists_once(fresh, &[about(8)], rewind).await;
}

async fn lists_changes_of_grants(fresh: &Fresh<Stores>) {
    let user = user_id(1);
    let version = async |stores: &Stores| {
        stores.grants.find(user).await.unwrap().map_or(GrantVersion(1), |grant| grant.version)
    };
    let update = async |stores: &Stores| {
        stores.grants.update(user, version(stores).await, &grant(2), ClaimAfter::Released).await.unwrap()
    };
    let remove_unused =
        async |stores: &Stores| stores.grants.remove_unused(user, version(stores).await).await.unwrap();
    granted(&fresh.one, user, &grant(1)).await;
    assert_eq!(subjects_of(fresh, update).await, [Subject::Grant(user)]);
    lists_once(fresh, &[Subject::Grant(user)], remove_unused).await;
}

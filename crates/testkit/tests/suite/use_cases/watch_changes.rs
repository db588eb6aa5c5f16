//! Whoever wants to hears of every change, once it is shown.

use crate::use_cases::{Stage, following::Recorder};
use async_trait::async_trait;
use companion_domain::{
    change::{Change, Changes, Kind, Revision, Subject},
    port::{ChangeFeed, Record, Records, StoreError},
    usecase::{Heard, Watch},
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::{
    use_cases::{InMemory, settings},
    world::user_id,
};
use futures_util::FutureExt as _;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// The users whose block was heard of.
fn users(changes: &[Change]) -> Vec<Subject> {
    changes.iter().map(|change| change.subject.clone()).collect()
}

fn blocked(users: impl IntoIterator<Item = u64>) -> Vec<Subject> {
    users.into_iter().map(|user| Subject::Blocked(user_id(user))).collect()
}

/// What comes next, where it is there already.
fn now(watch: &mut Watch) -> Option<Heard> {
    watch.next().now_or_never().map(Result::unwrap)
}

/// The changes that come next, where they are there already.
fn changes_now(watch: &mut Watch) -> Vec<Change> {
    match now(watch) {
        Some(Heard::Changes(changes)) => changes,
        other => panic!("{other:?}"),
    }
}

impl Stage {
    async fn block(&self, users: impl IntoIterator<Item = u64>) {
        for user in users {
            self.memory.storage.put(Record::Blocked(user_id(user))).await.unwrap();
        }
    }

    async fn show(&self) {
        self.use_cases.following.catch_up().await.unwrap();
    }

    async fn latest(&self) -> Revision {
        self.memory.storage.latest().await.unwrap()
    }

    fn watch(&self, position: Option<Revision>) -> Watch {
        self.use_cases.watch_changes.after(position)
    }
}

async fn stage() -> Stage {
    let stage = Stage::followed(MemoryStorage::new()).0;
    stage.block([1]).await;
    stage.show().await;
    stage
}

#[tokio::test]
async fn it_begins_now_and_tells_each_change_once_in_order() {
    let stage = stage().await;
    let mut watch = stage.watch(None);
    assert_eq!(now(&mut watch), Some(Heard::Beginning(stage.latest().await)));
    assert_eq!(now(&mut watch), None);
    stage.block([2, 3]).await;
    stage.show().await;
    let heard = changes_now(&mut watch);
    assert_eq!(users(&heard), blocked([2, 3]));
    assert!(heard[0].revision < heard[1].revision);
    assert_eq!(now(&mut watch), None);
    stage.block([4]).await;
    stage.show().await;
    assert_eq!(users(&changes_now(&mut watch)), blocked([4]));
}

#[tokio::test]
async fn whoever_waits_is_woken() {
    let stage = stage().await;
    let mut watch = stage.watch(None);
    watch.next().await.unwrap();
    let heard = tokio::spawn(async move { watch.next().await.unwrap() });
    tokio::task::yield_now().await;
    stage.block([2]).await;
    stage.show().await;
    assert!(matches!(heard.await.unwrap(), Heard::Changes(changes) if users(&changes) == blocked([2])));
}

#[tokio::test]
async fn nothing_is_told_before_every_copy_shows_it() {
    let (stage, slow): (_, Arc<Recorder>) = Stage::followed(MemoryStorage::new());
    stage.show().await;
    let mut watch = stage.watch(None);
    watch.next().await.unwrap();
    slow.fail(true);
    stage.block([2]).await;
    stage.use_cases.following.catch_up().await.unwrap_err();
    assert_eq!(now(&mut watch), None);
    let mut resumed = stage.watch(Some(Revision::default()));
    assert_eq!(now(&mut resumed), None, "nor to those who go on");
    slow.fail(false);
    stage.show().await;
    for watch in [&mut watch, &mut resumed] {
        assert_eq!(users(&changes_now(watch)), blocked([2]));
    }
}

#[tokio::test]
async fn whoever_goes_on_misses_nothing_and_hears_nothing_twice() {
    let stage = stage().await;
    let position = stage.latest().await;
    stage.block([2, 3]).await;
    stage.show().await;
    let mut early = stage.watch(Some(position));
    assert_eq!(users(&changes_now(&mut early)), blocked([2, 3]));
    let mut since_ever = stage.watch(Some(Revision::default()));
    assert_eq!(users(&changes_now(&mut since_ever)), blocked([1, 2, 3]));
    let mut current = stage.watch(Some(stage.latest().await));
    for watch in [&mut early, &mut since_ever, &mut current] {
        assert_eq!(now(watch), None);
    }
}

#[tokio::test]
async fn whoever_was_further_on_another_node_waits_for_this_one() {
    let stage = stage().await;
    stage.block([2]).await;
    let ahead = stage.latest().await;
    let mut watch = stage.watch(Some(ahead));
    assert_eq!(now(&mut watch), None);
    stage.block([3]).await;
    stage.show().await;
    assert_eq!(users(&changes_now(&mut watch)), blocked([3]));
}

#[tokio::test]
async fn where_the_history_does_not_reach_everything_begins_anew() {
    let stage = stage().await;
    stage.block([7]).await;
    stage.show().await;
    let mut stranger = stage.watch(Some(Revision(1_000_000)));
    assert_eq!(now(&mut stranger), Some(Heard::Reset(stage.latest().await)));
    stage.block([2]).await;
    stage.show().await;
    assert_eq!(users(&changes_now(&mut stranger)), blocked([2]));
}

#[tokio::test]
async fn very_many_come_in_parts() {
    let stage = stage().await;
    let mut watch = stage.watch(None);
    watch.next().await.unwrap();
    stage.block(2..=1001).await;
    stage.show().await;
    let mut heard = Vec::new();
    while let Some(Heard::Changes(changes)) = now(&mut watch) {
        assert!(changes.len() <= 256, "{}", changes.len());
        heard.extend(users(&changes));
    }
    let many = Subject::Many(Kind::Blocked);
    assert!(heard == blocked(2..=1001) || heard.contains(&many), "{}", heard.len());
}

/// A feed that counts how often it is asked.
struct CountedFeed {
    inner: Arc<dyn ChangeFeed>,
    asked: AtomicU64,
}

#[async_trait]
impl ChangeFeed for CountedFeed {
    async fn latest(&self) -> Result<Revision, StoreError> {
        self.inner.latest().await
    }

    async fn since(&self, revision: Revision) -> Result<Changes, StoreError> {
        self.asked.fetch_add(1, Relaxed);
        self.inner.since(revision).await
    }
}

#[tokio::test]
async fn a_thousand_who_listen_cost_one_look_at_the_feed() {
    let mut memory = InMemory::new();
    let feed = Arc::new(CountedFeed { inner: memory.ports.stores.changes.clone(), asked: AtomicU64::new(0) });
    memory.ports.stores.changes = feed.clone();
    let stage = Stage::over(memory, settings());
    stage.show().await;
    let mut thousand: Vec<_> = (0..1000).map(|_| stage.watch(None)).collect();
    for watch in &mut thousand {
        watch.next().await.unwrap();
    }
    let before = feed.asked.load(Relaxed);
    stage.block([1]).await;
    stage.show().await;
    for watch in &mut thousand {
        assert_eq!(users(&changes_now(watch)), blocked([1]));
    }
    assert_eq!(feed.asked.load(Relaxed) - before, 1);
}

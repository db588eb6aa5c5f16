//! Subscribers receive every change, and watchers see it once all subscribers show it.

use crate::use_cases::{SECOND, Stage};
use async_trait::async_trait;
use companion_domain::{
    change::{Change, Revision, Subject, Tally},
    port::{ChangeBatch, ChangeFeed, Record, Records, StoreError, Subscriber},
    usecase::{Watch, WatchEvent},
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::{
    over::{ChangeFeedOver, Over},
    use_cases::{InMemory, settings},
    world::user_id,
};
use futures_util::{FutureExt as _, future::join_all};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::sync::{Notify, Semaphore};

/// Records what it receives, and fails on demand.
#[derive(Default)]
pub(crate) struct Recorder {
    heard: Mutex<Vec<ChangeBatch>>,
    failing: AtomicBool,
}

impl Recorder {
    pub(crate) fn fail(&self, failing: bool) {
        self.failing.store(failing, SeqCst);
    }

    pub(crate) fn heard(&self) -> Vec<ChangeBatch> {
        self.heard.lock().unwrap().clone()
    }

    pub(crate) fn subjects(&self) -> Vec<Subject> {
        let changes = self.heard().into_iter().flat_map(|batch| match batch {
            ChangeBatch::Changes(changes) => changes,
            ChangeBatch::Everything => Vec::new(),
        });
        changes.map(|change| change.subject).collect()
    }
}

#[async_trait]
impl Subscriber for Recorder {
    async fn receive(&self, batch: &ChangeBatch) -> Result<(), StoreError> {
        if self.failing.load(SeqCst) {
            return Err(StoreError::unavailable("cannot keep up"));
        }
        self.heard.lock().unwrap().push(batch.clone());
        Ok(())
    }
}

impl Stage {
    pub(crate) fn followed(storage: MemoryStorage) -> (Self, Arc<Recorder>) {
        let recorder = Arc::new(Recorder::default());
        let stage = Self::over(InMemory::over(storage), settings());
        stage.use_cases.dispatcher.add(recorder.clone());
        (stage, recorder)
    }
}

#[tokio::test]
async fn a_subscriber_loads_everything_then_receives_changes() {
    let (stage, recorder) = Stage::followed(MemoryStorage::new());
    let dispatcher = &stage.use_cases.dispatcher;
    stage.block([1]).await;
    assert!(!dispatcher.is_loaded());
    dispatcher.catch_up().await.unwrap();
    assert!(dispatcher.is_loaded());
    dispatcher.catch_up().await.unwrap();
    stage.block([3, 2]).await;
    dispatcher.catch_up().await.unwrap();
    assert_eq!(recorder.heard().len(), 2, "what is not new is not told");
    assert_eq!(recorder.heard()[0], ChangeBatch::Everything);
    assert_eq!(recorder.subjects(), blocked([3, 2]), "in their order");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_change_is_delivered_exactly_once() {
    let (stage, recorder) = Stage::followed(MemoryStorage::new());
    stage.use_cases.dispatcher.catch_up().await.unwrap();
    let writers: Vec<_> = (1..=64)
        .map(|user| {
            let (feed, recorder) = (Arc::clone(&stage.use_cases.feed), Arc::clone(&recorder));
            tokio::spawn(async move {
                feed.records.put(Record::Blocked(user_id(user))).await.unwrap();
                recorder.subjects().contains(&Subject::Blocked(user_id(user)))
            })
        })
        .collect();
    for writer in writers {
        assert!(writer.await.unwrap(), "the subscriber knew before the writer had its answer");
    }
    let mut told: Vec<_> = recorder.subjects();
    told.sort_by_key(|subject| match subject {
        Subject::Blocked(user) => user.get(),
        other => panic!("nothing else changed: {other:?}"),
    });
    assert_eq!(told, blocked(1..=64));
}

#[tokio::test]
async fn a_write_is_delivered_without_reading_the_feed() {
    let (stage, feed) = Stage::with_counted_feed(Semaphore::MAX_PERMITS);
    let recorder = Arc::new(Recorder::default());
    stage.use_cases.dispatcher.add(recorder.clone());
    stage.show().await;
    let asked = feed.reads.load(SeqCst);
    for user in [1, 2] {
        stage.put(Record::Blocked(user_id(user))).await;
    }
    assert_eq!(recorder.subjects(), blocked([1, 2]));
    assert_eq!(feed.reads.load(SeqCst), asked);
}

#[tokio::test]
async fn earlier_changes_of_others_are_delivered_before_a_write() {
    let (stage, recorder) = Stage::followed(MemoryStorage::new());
    stage.use_cases.dispatcher.catch_up().await.unwrap();
    stage.block([1]).await;
    stage.put(Record::Blocked(user_id(2))).await;
    let both = blocked([1, 2]);
    assert_eq!(recorder.subjects(), both);
    stage.use_cases.dispatcher.catch_up().await.unwrap();
    assert_eq!(recorder.subjects(), both, "each once");
}

#[tokio::test]
async fn a_gap_reloads_everything() {
    let (stage, recorder) = Stage::followed(MemoryStorage::with_history(3));
    stage.use_cases.dispatcher.catch_up().await.unwrap();
    stage.block(1..=4).await;
    stage.use_cases.dispatcher.catch_up().await.unwrap();
    assert_eq!(recorder.heard(), [ChangeBatch::Everything, ChangeBatch::Everything]);
    stage.block(5..=7).await;
    stage.use_cases.dispatcher.catch_up().await.unwrap();
    assert_eq!(recorder.subjects().len(), 3, "as far back as the history reaches, changes are named");
}

#[tokio::test]
async fn a_failed_delivery_is_retried_and_blocks_no_other() {
    let (stage, failing) = Stage::followed(MemoryStorage::new());
    let (dispatcher, other) = (&stage.use_cases.dispatcher, Arc::new(Recorder::default()));
    dispatcher.add(other.clone());
    failing.fail(true);
    assert!(dispatcher.catch_up().await.is_err());
    assert!(!dispatcher.is_loaded());
    failing.fail(false);
    dispatcher.catch_up().await.unwrap();
    failing.fail(true);
    // The change is committed, so its writer succeeds.
    let written = stage.use_cases.feed.records.put(Record::Blocked(user_id(1))).await.unwrap();
    assert_eq!(written, Tally { added: 1, ..Tally::default() });
    assert!(dispatcher.catch_up().await.is_err());
    assert_eq!(other.subjects(), blocked([1]));
    failing.fail(false);
    dispatcher.catch_up().await.unwrap();
    for recorder in [failing, other] {
        assert_eq!((recorder.heard().len(), recorder.subjects()), (2, blocked([1])), "each once");
    }
}

#[tokio::test]
async fn concurrent_waiters_share_the_next_pass() {
    let (stage, feed) = Stage::with_counted_feed(0);
    let dispatcher = &stage.use_cases.dispatcher;
    dispatcher.add(Arc::new(Recorder::default()));
    let first = dispatcher.catch_up();
    let (first, ()) = tokio::join!(first, async {
        feed.asked.notified().await;
        let waiting = join_all((0..50).map(|_| dispatcher.catch_up()));
        let ((), all) = tokio::join!(
            async {
                tokio::task::yield_now().await;
                feed.answers.add_permits(2);
            },
            waiting
        );
        assert!(all.into_iter().all(|caught_up| caught_up.is_ok()));
    });
    first.unwrap();
    assert_eq!(feed.reads.load(SeqCst), 2, "the one that was under way, and one for all fifty");
}

/// A feed that counts reads, and answers as many as it has permits for.
struct CountedFeed {
    inner: Arc<dyn ChangeFeed>,
    asked: Notify,
    answers: Semaphore,
    reads: AtomicU64,
}

#[async_trait]
impl ChangeFeedOver for CountedFeed {
    fn changes(&self) -> &dyn ChangeFeed {
        &*self.inner
    }

    async fn before(&self) -> Result<(), StoreError> {
        self.reads.fetch_add(1, SeqCst);
        self.asked.notify_one();
        self.answers.acquire().await.unwrap().forget();
        Ok(())
    }
}

impl Stage {
    fn with_counted_feed(answers: usize) -> (Self, Arc<Over<CountedFeed>>) {
        let mut memory = InMemory::new();
        let feed = Arc::new(Over(CountedFeed {
            inner: memory.ports.stores.changes.clone(),
            asked: Notify::new(),
            answers: Semaphore::new(answers),
            reads: AtomicU64::new(0),
        }));
        memory.ports.stores.changes = feed.clone();
        (Self::over(memory, settings()), feed)
    }
}

#[tokio::test]
async fn reports_the_lag_of_each_subscriber() {
    let (stage, recorder) = Stage::followed(MemoryStorage::new());
    let (dispatcher, clock) = (&stage.use_cases.dispatcher, &stage.memory.clock);
    let age_of = |name| dispatcher.ages().into_iter().find(|(part, _)| *part == name).unwrap().1;
    assert_eq!(age_of("other"), None);
    dispatcher.catch_up().await.unwrap();
    clock.advance(SECOND);
    assert_eq!(age_of("other"), Some(SECOND));
    stage.block([1]).await;
    recorder.fail(true);
    dispatcher.catch_up().await.unwrap_err();
    assert_eq!(age_of("change_streams"), Some(Duration::ZERO), "another does not hold it up");
    assert_eq!(age_of("other"), Some(SECOND));
    recorder.fail(false);
    dispatcher.catch_up().await.unwrap();
    assert_eq!(age_of("other"), Some(Duration::ZERO));
}

/// Returns the subjects of changes.
fn users(changes: &[Change]) -> Vec<Subject> {
    changes.iter().map(|change| change.subject.clone()).collect()
}

fn blocked(users: impl IntoIterator<Item = u64>) -> Vec<Subject> {
    users.into_iter().map(|user| Subject::Blocked(user_id(user))).collect()
}

/// Returns the next event, if it is already available.
fn now(watch: &mut Watch) -> Option<WatchEvent> {
    watch.next().now_or_never().map(Result::unwrap)
}

/// Returns the next changes, if they are already available.
fn changes_now(watch: &mut Watch) -> Vec<Change> {
    match now(watch) {
        Some(WatchEvent::Changes(changes)) => changes,
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
        self.use_cases.dispatcher.catch_up().await.unwrap();
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
async fn a_watch_yields_a_change_only_after_all_subscribers_have_it() {
    let (stage, slow): (_, Arc<Recorder>) = Stage::followed(MemoryStorage::new());
    stage.show().await;
    let mut watch = stage.watch(None);
    watch.next().await.unwrap();
    slow.fail(true);
    stage.block([2]).await;
    stage.use_cases.dispatcher.catch_up().await.unwrap_err();
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
async fn a_watch_ahead_of_this_node_waits_for_it() {
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
async fn a_thousand_watches_cost_one_feed_read() {
    let (stage, feed) = Stage::with_counted_feed(Semaphore::MAX_PERMITS);
    stage.show().await;
    let mut thousand: Vec<_> = (0..1000).map(|_| stage.watch(None)).collect();
    for watch in &mut thousand {
        watch.next().await.unwrap();
    }
    let before = feed.reads.load(SeqCst);
    stage.block([1]).await;
    stage.show().await;
    for watch in &mut thousand {
        assert_eq!(users(&changes_now(watch)), blocked([1]));
    }
    assert_eq!(feed.reads.load(SeqCst) - before, 1);
}

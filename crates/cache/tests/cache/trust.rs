//! How long copies count when the store falls silent.

use crate::node::{Node, PLENTY, Source, grant};
use async_trait::async_trait;
use companion_domain::{
    change::{Changes, Revision},
    port::{ChangeFeed, Follower, News, Record, Replace, StoreError, StoreErrorKind},
};
use companion_testkit::{
    over::{ChangeFeedOver, Over},
    use_cases::InMemory,
    world::{a_guild, user_id},
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::sync::Notify;

const SECOND: Duration = Duration::from_secs(1);
const INSTANT: Duration = Duration::from_micros(1);

#[derive(Clone, Copy, Default)]
enum Mood {
    #[default]
    Well,
    Failing,
    Hanging,
}

/// A feed that can fail, or never answer.
struct Moody {
    inner: Arc<dyn ChangeFeed>,
    mood: Mutex<Mood>,
    asked: AtomicU32,
    /// Lets a question that hangs be answered after all.
    answer: Notify,
}

#[async_trait]
impl ChangeFeedOver for Moody {
    fn changes(&self) -> &dyn ChangeFeed {
        &*self.inner
    }

    async fn since(&self, revision: Revision) -> Result<Changes, StoreError> {
        self.asked.fetch_add(1, SeqCst);
        let mood = *self.mood.lock().unwrap();
        match mood {
            Mood::Well => self.inner.since(revision).await,
            Mood::Failing => Err(StoreError::unavailable("cut off")),
            Mood::Hanging => {
                let changes = self.inner.since(revision).await;
                self.answer.notified().await;
                changes
            }
        }
    }
}

struct Scene {
    world: InMemory,
    feed: Arc<Over<Moody>>,
    node: Arc<Node>,
}

impl Scene {
    /// A node that has a copy of a listing.
    async fn new() -> Self {
        let world = InMemory::new();
        let inner = world.ports.stores.changes.clone();
        let feed = Arc::new(Over(Moody {
            inner,
            mood: Mutex::default(),
            asked: AtomicU32::new(0),
            answer: Notify::new(),
        }));
        let mut ports = world.ports.clone();
        ports.stores.changes = feed.clone();
        let node = Node::over(&ports, PLENTY);
        node.settle().await;
        world.ports.stores.grants.replace(user_id(1), &grant(&[1])).await.unwrap();
        node.settle().await;
        node.listing(user_id(1)).await.unwrap();
        feed.asked.store(0, SeqCst);
        Self { world, feed, node }
    }

    fn becomes(&self, mood: Mood) {
        *self.feed.mood.lock().unwrap() = mood;
    }

    async fn is_shown(&self) -> bool {
        match self.node.listing(user_id(1)).await {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.kind, StoreErrorKind::Unavailable);
                false
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn within_a_second_copies_count_without_a_question() {
    let scene = Scene::new().await;
    scene.becomes(Mood::Failing);
    scene.world.clock.advance(SECOND - INSTANT);
    assert!(scene.is_shown().await);
    assert_eq!(scene.feed.asked.load(SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn after_a_second_the_feed_is_asked_and_copies_count_again() {
    let scene = Scene::new().await;
    for _ in 0..3 {
        scene.world.clock.advance(SECOND);
        assert!(scene.is_shown().await && scene.is_shown().await);
    }
    assert_eq!(scene.feed.asked.load(SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn a_change_that_the_question_brings_counts_at_once() {
    let scene = Scene::new().await;
    scene.world.ports.stores.records.put(Record::Blocked(user_id(1))).await.unwrap();
    assert!(!scene.node.listing(user_id(1)).await.unwrap().blocked, "the copies count for a second");
    scene.world.clock.advance(SECOND);
    assert!(scene.node.listing(user_id(1)).await.unwrap().blocked);
}

#[tokio::test(start_paused = true)]
async fn a_silent_feed_costs_a_quarter_of_a_second_and_copies_stand_in_for_ten() {
    for mood in [Mood::Failing, Mood::Hanging] {
        let scene = Scene::new().await;
        scene.becomes(mood);
        scene.world.clock.advance(10 * SECOND - INSTANT);
        let asked_at = tokio::time::Instant::now();
        assert!(scene.is_shown().await, "not quite ten seconds");
        assert!(asked_at.elapsed() <= Duration::from_millis(250));
        scene.world.clock.advance(INSTANT);
        assert!(!scene.is_shown().await, "ten seconds");
        scene.becomes(Mood::Well);
        assert!(scene.is_shown().await, "it answers again");
    }
}

#[tokio::test(start_paused = true)]
async fn all_who_wait_at_once_share_one_question() {
    let scene = Scene::new().await;
    scene.world.clock.advance(SECOND);
    let asking = (0..50).map(|_| scene.is_shown());
    assert!(futures_util::future::join_all(asking).await.into_iter().all(|shown| shown));
    assert!(scene.feed.asked.load(SeqCst) <= 2, "{} questions", scene.feed.asked.load(SeqCst));
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_counts_from_when_it_was_asked_for() {
    let scene = Scene::new().await;
    scene.becomes(Mood::Hanging);
    let node = scene.node.clone();
    let slow = tokio::spawn(async move { node.following.catch_up().await });
    tokio::task::yield_now().await;
    // It is asked now, and answered after twenty seconds.
    scene.world.clock.advance(20 * SECOND);
    scene.becomes(Mood::Failing);
    scene.feed.answer.notify_waiters();
    slow.await.unwrap().unwrap();
    assert!(!scene.is_shown().await, "what it told is twenty seconds old");
    scene.becomes(Mood::Well);
    assert!(scene.is_shown().await);
}

/// A follower that cannot be led.
struct Broken;

#[async_trait]
impl Follower for Broken {
    async fn follow(&self, _: &News) -> Result<(), StoreError> {
        Err(StoreError::corrupt("a projection with a mistake"))
    }
}

#[tokio::test(start_paused = true)]
async fn another_follower_that_fails_costs_copies_no_trust() {
    let scene = Scene::new().await;
    scene.node.following.add(Arc::new(Broken));
    for _ in 0..3 {
        scene.world.clock.advance(20 * SECOND);
        assert!(scene.is_shown().await);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_sync_through_the_node_has_changed_shows_although_the_feed_cannot_tell() {
    let scene = Scene::new().await;
    assert!(scene.node.listing(user_id(1)).await.unwrap().guilds.is_empty());
    scene.becomes(Mood::Failing);
    let mut source = Source::of([Record::Guild(a_guild(1))]);
    scene.node.stores.records.sync(&Replace::default(), &mut source).await.unwrap();
    assert_eq!(scene.node.listing(user_id(1)).await.unwrap().guilds.len(), 1);
}

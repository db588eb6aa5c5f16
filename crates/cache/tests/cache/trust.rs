//! Freshness of entries, also while the store does not answer; visibility of writes; and answers from memory alone.

use crate::node::{Node, PLENTY, Source, grant};
use async_trait::async_trait;
use companion_cache::{Cache, CacheSettings};
use companion_domain::{
    change::{Changes, Key, Revision, Subject},
    model::{Guild, StaffPermission, UserId},
    port::{
        Asked, ChangeBatch, ChangeFeed, ClaimAfter, Listing, Mutation, Record, Records as _, Replace,
        StoreError, StoreErrorKind, Subscriber,
    },
    session::TokenHash,
    usecase::{ChangeDispatcher, UseCases},
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::{
    over::{ChangeFeedOver, Over},
    use_cases::{InMemory, settings},
    world::{a_guild, a_member, a_subscription, a_user, an_ownership, guild_id, name, user_id},
};
use futures_util::FutureExt as _;
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
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

/// A feed that can fail or hang.
struct Moody {
    inner: Arc<dyn ChangeFeed>,
    mood: Mutex<Mood>,
    asked: AtomicU32,
    /// Releases a call that hangs.
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
    /// A node with a cached listing.
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
async fn after_a_second_the_feed_is_asked_and_copies_count_again() {
    let scene = Scene::new().await;
    for asked in 0..3 {
        scene.world.clock.advance(SECOND - INSTANT);
        assert!(scene.is_shown().await);
        assert_eq!(scene.feed.asked.load(SeqCst), asked, "within a second nobody asks");
        scene.world.clock.advance(INSTANT);
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
    let slow = tokio::spawn(async move { node.dispatcher.catch_up().await });
    tokio::task::yield_now().await;
    // The call begins now and returns twenty seconds later.
    scene.world.clock.advance(20 * SECOND);
    scene.becomes(Mood::Failing);
    scene.feed.answer.notify_waiters();
    slow.await.unwrap().unwrap();
    assert!(!scene.is_shown().await, "what it told is twenty seconds old");
    scene.becomes(Mood::Well);
    assert!(scene.is_shown().await);
}

/// A subscriber whose deliveries fail.
struct Broken;

#[async_trait]
impl Subscriber for Broken {
    async fn receive(&self, _: &ChangeBatch) -> Result<(), StoreError> {
        Err(StoreError::corrupt("a projection with a mistake"))
    }
}

#[tokio::test(start_paused = true)]
async fn another_follower_that_fails_costs_copies_no_trust() {
    let scene = Scene::new().await;
    scene.node.dispatcher.add(Arc::new(Broken));
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

/// Returns a node with a cache that reads blocks and guilds from another store.
async fn a_node_beside(elsewhere: &Arc<MemoryStorage>) -> Arc<Node> {
    let mut ports = InMemory::new().ports;
    ports.stores.grants.replace(user_id(1), &grant(&[1])).await.unwrap();
    ports.stores = ports.stores.with_blocked(elsewhere.clone()).with_guilds(elsewhere.clone());
    let node = Node::over(&ports, PLENTY);
    node.settle().await;
    node
}

#[tokio::test(start_paused = true)]
async fn what_changes_outside_shows_at_once() {
    let elsewhere = Arc::new(MemoryStorage::new());
    let node = a_node_beside(&elsewhere).await;
    let (block, guild) = (Key::Blocked(user_id(1)), a_guild(1));
    for there in [true, false, true] {
        if there {
            elsewhere.put(Record::Blocked(user_id(1))).await.unwrap();
            elsewhere.put(Record::Guild(guild.clone())).await.unwrap();
        } else {
            elsewhere.remove(block.clone()).await.unwrap();
            elsewhere.remove(Key::Guild(guild.id)).await.unwrap();
        }
        let listing = node.listing(user_id(1)).await.unwrap();
        assert_eq!((listing.blocked, listing.guilds.len()), (there, usize::from(there)));
        assert!(node.stores.listings().cached(user_id(1)).is_none());
    }
}

/// A node that never polls the feed, since no time passes.
struct Own {
    world: InMemory,
    node: Arc<Node>,
    shown: Arc<Listing>,
}

impl Own {
    async fn new() -> Self {
        let world = InMemory::new();
        world.ports.stores.grants.replace(user_id(1), &grant(&[1])).await.unwrap();
        world.ports.stores.records.put(Record::Guild(a_guild(1))).await.unwrap();
        let node = Node::over(&world.ports, PLENTY);
        node.settle().await;
        let shown = node.listing(user_id(1)).await.unwrap();
        Self { world, node, shown }
    }

    /// Asserts that the listing has changed and equals the stored one.
    async fn shows(&mut self, written: &str) {
        let before = std::mem::replace(&mut self.shown, self.node.listing(user_id(1)).await.unwrap());
        assert_ne!(self.shown, before, "{written} does not show");
        let stored = self.world.ports.stores.listings().read(user_id(1), Asked::List).await.unwrap();
        assert_eq!(self.shown, stored, "{written}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_write_through_a_node_shows_there_at_once() {
    let mut scene = Own::new().await;
    let (records, grants) = (scene.node.stores.records.clone(), scene.node.stores.grants.clone());
    let renamed = Record::Guild(Guild { name: name("Another"), ..a_guild(1) });
    let staff = Record::Staff(user_id(1), [StaffPermission::Support].into_iter().collect());
    let gone = |key: Key| Mutation::Remove(key);
    for (written, mutation) in [
        ("a guild", Mutation::Put(renamed.clone())),
        ("a role", Mutation::Put(Record::Member(a_member(1, 1, &[5])))),
        ("a role that was taken", gone(Key::Member(guild_id(1), user_id(1)))),
        ("one's own subscription", Mutation::Put(Record::Subscription(a_subscription(1, &[])))),
        ("one that names a guild", Mutation::Put(Record::Subscription(a_subscription(2, &[1])))),
        ("one's own that has ended", gone(Key::Subscription(user_id(1)))),
        ("another's that has ended", gone(Key::Subscription(user_id(2)))),
        ("what was granted by name", Mutation::Put(staff)),
        ("what was taken by name", gone(Key::Staff(user_id(1)))),
        ("a block", Mutation::Put(Record::Blocked(user_id(1)))),
        ("a block that was lifted", gone(Key::Blocked(user_id(1)))),
        ("a guild that the bot has left", gone(Key::Guild(guild_id(1)))),
    ] {
        records.write(mutation).await.unwrap();
        scene.shows(written).await;
    }
    records.sync(&Replace::default(), &mut Source::of([renamed])).await.unwrap();
    scene.shows("a sync").await;
    let version = grants.replace(user_id(1), &grant(&[])).await.unwrap();
    scene.shows("a new grant").await;
    let version = grants.update(user_id(1), version, &grant(&[1]), ClaimAfter::Released).await.unwrap();
    scene.shows("a list that was fetched again").await;
    assert!(grants.remove(user_id(1), version).await.unwrap());
    scene.shows("a grant that is gone").await;
    let version = grants.replace(user_id(1), &grant(&[1])).await.unwrap();
    scene.shows("another grant").await;
    assert!(grants.remove_unused(user_id(1), version).await.unwrap());
    scene.shows("a grant that nobody used").await;
    grants.replace(user_id(1), &grant(&[1])).await.unwrap();
    scene.shows("a grant again").await;
    records.forget(user_id(1)).await.unwrap();
    scene.shows("a user who was forgotten").await;
}

/// A subscriber whose deliveries hang while it is busy.
#[derive(Default)]
struct Busy {
    is_busy: AtomicBool,
    told: Mutex<Vec<Subject>>,
}

#[async_trait]
impl Subscriber for Busy {
    async fn receive(&self, batch: &ChangeBatch) -> Result<(), StoreError> {
        if self.is_busy.load(SeqCst) {
            std::future::pending::<()>().await;
        }
        if let ChangeBatch::Changes(changes) = batch {
            self.told.lock().unwrap().extend(changes.iter().map(|change| change.subject.clone()));
        }
        Ok(())
    }
}

#[tokio::test]
async fn what_others_were_telling_when_they_gave_up() {
    let node = Node::over(&InMemory::new().ports, PLENTY);
    let subscriber = Arc::new(Busy::default());
    node.dispatcher.add(subscriber.clone());
    node.settle().await;
    subscriber.is_busy.store(true, SeqCst);
    let block = |user| node.stores.records.put(Record::Blocked(user_id(user)));
    let (mut first, mut second, mut third) = (block(1), block(2), block(3));
    for waiting in [&mut first, &mut second, &mut third] {
        assert!(waiting.now_or_never().is_none());
    }
    drop(first);
    assert!((&mut second).now_or_never().is_none());
    drop(second);
    subscriber.is_busy.store(false, SeqCst);
    third.await.unwrap();
    let blocked = [1, 2, 3].map(|user| Subject::Blocked(user_id(user)));
    assert_eq!(*subscriber.told.lock().unwrap(), blocked);
}

/// A service with a cache, and a signed-in user who has requested their list once.
struct AtHand {
    world: InMemory,
    use_cases: UseCases,
    token: String,
    user: UserId,
}

impl AtHand {
    async fn new() -> Self {
        let world = InMemory::new();
        let mut ports = world.ports.clone();
        let dispatcher = ChangeDispatcher::of(&ports);
        Cache::around(&mut ports, &dispatcher, CacheSettings { memory: PLENTY, use_lag: Duration::ZERO });
        let use_cases = UseCases::led_by(dispatcher, &ports, settings());
        use_cases.dispatcher.catch_up().await.unwrap();
        use_cases.feed.records.put(Record::Guild(a_guild(1))).await.unwrap();
        let user = a_user(1);
        let request = world.arrival(user.clone(), vec![an_ownership(1)]);
        let signed_in = use_cases.sign_in.sign_in(&request).await.unwrap();
        use_cases.dispatcher.catch_up().await.unwrap();
        let scene = Self { world, use_cases, token: signed_in.token.expose().to_owned(), user: user.id };
        scene.ask().await;
        scene
    }

    /// Sends a request that may wait for the store.
    async fn ask(&self) {
        let session = self.use_cases.authenticate.authenticate(&self.token).await.unwrap();
        self.use_cases.list_guilds.list(session.user).await.unwrap();
    }

    fn recognises(&self) -> bool {
        self.use_cases.authenticate.cached(&self.token).is_some()
    }

    fn lists(&self) -> bool {
        self.use_cases.list_guilds.cached(self.user).is_some()
    }
}

#[tokio::test]
async fn who_has_asked_before_is_answered_without_waiting() {
    let scene = AtHand::new().await;
    let session = scene.use_cases.authenticate.cached(&scene.token).unwrap();
    assert_eq!(session, scene.use_cases.authenticate.authenticate(&scene.token).await.unwrap());
    let listing = scene.use_cases.list_guilds.cached(session.user).unwrap();
    assert_eq!(listing, scene.use_cases.list_guilds.list(session.user).await.unwrap());
    assert_eq!(listing.guilds().len(), 1);
}

#[tokio::test]
async fn who_finds_nothing_at_hand_and_waits_for_it_is_one_miss() {
    let world = InMemory::new();
    let node = Node::over(&world.ports, PLENTY);
    let user = user_id(1);
    world.ports.stores.grants.replace(user, &grant(&[1])).await.unwrap();
    node.dispatcher.catch_up().await.unwrap();
    let id = TokenHash::from_bytes([1; 32]);
    for _ in 0..3 {
        assert!(node.stores.listings().cached(user).is_none() && node.stores.sessions.cached(&id).is_none());
    }
    node.listing(user).await.unwrap();
    assert_eq!(node.stores.sessions.find(&id).await.unwrap(), None);
    for entries in &node.cache.statistics()[..2] {
        assert_eq!(entries.misses, 1, "{}", entries.name);
    }
    assert!(node.stores.listings().cached(user).is_some());
}

#[tokio::test]
async fn a_token_that_differs_in_one_letter_finds_nothing_at_hand() {
    let scene = AtHand::new().await;
    for index in 0..scene.token.len() {
        let mut altered = scene.token.clone().into_bytes();
        altered[index] ^= 1;
        let altered = String::from_utf8(altered).unwrap();
        assert!(scene.use_cases.authenticate.cached(&altered).is_none(), "{altered}");
    }
}

#[tokio::test]
async fn what_is_at_hand_counts_for_a_second() {
    let scene = AtHand::new().await;
    scene.world.clock.advance(Duration::from_micros(999_999));
    assert!(scene.recognises() && scene.lists());
    scene.world.clock.advance(Duration::from_micros(1));
    assert!(!scene.recognises() && !scene.lists());
}

#[tokio::test]
async fn a_session_that_ended_and_a_user_who_is_blocked_are_not_at_hand() {
    let scene = AtHand::new().await;
    scene.use_cases.feed.records.put(Record::Blocked(scene.user)).await.unwrap();
    assert!(!scene.lists());
    assert!(scene.use_cases.list_guilds.list(scene.user).await.is_err());
    assert!(!scene.lists(), "that a user is blocked is for the request that waits to say");
    scene.use_cases.sessions.revoke_user(scene.user).await.unwrap();
    assert!(!scene.recognises());
}

#[tokio::test]
async fn a_use_that_is_to_be_recorded_and_a_list_that_is_to_be_renewed_are_not_at_hand() {
    let scene = AtHand::new().await;
    let show = async || scene.use_cases.dispatcher.catch_up().await.unwrap();
    let settings = settings();
    scene.world.clock.advance(settings.freshness.refresh_after.get());
    show().await;
    assert_eq!((scene.recognises(), scene.lists()), (true, false));
    scene.ask().await;
    assert!(scene.lists());
    scene.world.clock.advance(settings.limits.grain());
    show().await;
    assert!(!scene.recognises());
    scene.ask().await;
    assert!(scene.recognises());
}

#[tokio::test]
async fn who_looks_once_and_does_not_wait_costs_the_store_nothing() {
    let world = InMemory::new();
    let node = Node::over(&world.ports, PLENTY);
    node.dispatcher.catch_up().await.unwrap();
    let (user, id) = (user_id(1), TokenHash::from_bytes([1; 32]));
    assert!(node.listing(user).now_or_never().is_none());
    assert!(node.stores.sessions.find(&id).now_or_never().is_none());
    world.scheduler.settled().await;
    for entries in &node.cache.statistics()[..2] {
        assert_eq!(entries.misses, 0, "{}", entries.name);
    }
}

//! Freshness of entries, also while the store does not answer; visibility of writes; and answers from memory alone.

use crate::node::{Node, PLENTY, Service, grant};
use async_trait::async_trait;
use companion_domain::{
    change::{Changes, Key, Revision, Subject},
    model::{Guild, StaffPermission},
    port::{
        ChangeBatch, ChangeFeed, ClaimAfter, Listing, ListingScope, Mutation, Record, Records as _, Replace,
        StoreError, StoreErrorKind, Subscriber,
    },
    session::TokenHash,
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::{
    conformance::{prepared::granted, stream::Stream},
    over::{ChangeFeedOver, Over},
    use_cases::{InMemory, settings},
    world::{a_guild, a_member, a_subscription, an_ownership, guild_id, name, user_id},
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
enum Fault {
    #[default]
    None,
    Failing,
    Hanging,
}

/// A feed that can fail or hang.
struct FaultyFeed {
    inner: Arc<dyn ChangeFeed>,
    fault: Mutex<Fault>,
    asked: AtomicU32,
    /// Releases a call that hangs.
    answer: Notify,
}

#[async_trait]
impl ChangeFeedOver for FaultyFeed {
    fn changes(&self) -> &dyn ChangeFeed {
        &*self.inner
    }

    async fn since(&self, revision: Revision) -> Result<Changes, StoreError> {
        self.asked.fetch_add(1, SeqCst);
        let fault = *self.fault.lock().unwrap();
        match fault {
            Fault::None => self.inner.since(revision).await,
            Fault::Failing => Err(StoreError::unavailable("cut off")),
            Fault::Hanging => {
                let changes = self.inner.since(revision).await;
                self.answer.notified().await;
                changes
            }
        }
    }
}

struct Scene {
    world: InMemory,
    feed: Arc<Over<FaultyFeed>>,
    node: Arc<Node>,
    /// The listing that was shown last.
    shown: Arc<Listing>,
}

impl Scene {
    /// A node with a cached listing.
    async fn new() -> Self {
        let world = InMemory::new();
        let inner = world.ports.stores.changes.clone();
        let feed = Arc::new(Over(FaultyFeed {
            inner,
            fault: Mutex::default(),
            asked: AtomicU32::new(0),
            answer: Notify::new(),
        }));
        let mut ports = world.ports.clone();
        ports.stores.changes = feed.clone();
        let node = Node::over(&ports, PLENTY);
        node.settle().await;
        granted(&world.ports.stores, user_id(1), &grant(&[1])).await;
        node.settle().await;
        let shown = node.listing(user_id(1)).await.unwrap();
        feed.asked.store(0, SeqCst);
        Self { world, feed, node, shown }
    }

    fn set_fault(&self, fault: Fault) {
        *self.feed.fault.lock().unwrap() = fault;
    }

    /// Asserts that the listing has changed and equals the stored one.
    async fn shows(&mut self, written: &str) {
        let before = std::mem::replace(&mut self.shown, self.node.listing(user_id(1)).await.unwrap());
        assert_ne!(self.shown, before, "{written} does not show");
        let stored = self.world.ports.stores.listings().read(user_id(1), ListingScope::List).await.unwrap();
        assert_eq!(self.shown, stored, "{written}");
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
async fn polls_the_feed_after_a_second_and_applies_the_answer() {
    let scene = Scene::new().await;
    for asked in 0..3 {
        scene.world.clock.advance(SECOND - INSTANT);
        assert!(scene.is_shown().await);
        assert_eq!(scene.feed.asked.load(SeqCst), asked, "no poll within a second");
        scene.world.clock.advance(INSTANT);
        assert!(scene.is_shown().await && scene.is_shown().await);
    }
    assert_eq!(scene.feed.asked.load(SeqCst), 3);
    scene.world.ports.stores.records.put(Record::Blocked(user_id(1))).await.unwrap();
    assert!(!scene.node.listing(user_id(1)).await.unwrap().blocked, "entries are fresh for a second");
    scene.world.clock.advance(SECOND);
    assert!(scene.node.listing(user_id(1)).await.unwrap().blocked);
}

#[tokio::test(start_paused = true)]
async fn serves_stale_entries_for_ten_seconds_if_the_feed_fails() {
    for fault in [Fault::Failing, Fault::Hanging] {
        let scene = Scene::new().await;
        scene.set_fault(fault);
        scene.world.clock.advance(10 * SECOND - INSTANT);
        let asked_at = tokio::time::Instant::now();
        assert!(scene.is_shown().await, "not quite ten seconds");
        assert!(asked_at.elapsed() <= Duration::from_millis(250));
        scene.world.clock.advance(INSTANT);
        assert!(!scene.is_shown().await, "ten seconds");
        scene.set_fault(Fault::None);
        assert!(scene.is_shown().await, "the feed answers again");
    }
}

#[tokio::test(start_paused = true)]
async fn concurrent_requests_share_one_poll() {
    let scene = Scene::new().await;
    scene.world.clock.advance(SECOND);
    let requests = (0..50).map(|_| scene.is_shown());
    assert!(futures_util::future::join_all(requests).await.into_iter().all(|shown| shown));
    assert!(scene.feed.asked.load(SeqCst) <= 2, "{} questions", scene.feed.asked.load(SeqCst));
}

#[tokio::test(start_paused = true)]
async fn freshness_starts_when_the_poll_begins() {
    let scene = Scene::new().await;
    scene.set_fault(Fault::Hanging);
    let node = scene.node.clone();
    let slow = tokio::spawn(async move { node.dispatcher.catch_up().await });
    tokio::task::yield_now().await;
    // The call begins now and returns twenty seconds later.
    scene.world.clock.advance(20 * SECOND);
    scene.set_fault(Fault::Failing);
    scene.feed.answer.notify_waiters();
    slow.await.unwrap().unwrap();
    assert!(!scene.is_shown().await, "the answer is twenty seconds old");
    scene.set_fault(Fault::None);
    assert!(scene.is_shown().await);
}

/// Returns a node with a cache that reads blocks and guilds from another store.
async fn a_node_beside(elsewhere: &Arc<MemoryStorage>) -> Arc<Node> {
    let mut ports = InMemory::new().ports;
    granted(&ports.stores, user_id(1), &grant(&[1])).await;
    ports.stores = ports.stores.with_blocked(elsewhere.clone()).with_guilds(elsewhere.clone());
    let node = Node::over(&ports, PLENTY);
    node.settle().await;
    node
}

#[tokio::test(start_paused = true)]
async fn shows_changes_of_foreign_stores_at_once() {
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

#[tokio::test(start_paused = true)]
async fn shows_every_own_write_at_once() {
    // It never polls the feed, since no time passes.
    let mut scene = Scene::new().await;
    let (records, grants) = (scene.node.stores.records.clone(), scene.node.stores.grants.clone());
    let renamed = Record::Guild(Guild { name: name("Another"), ..a_guild(1) });
    let staff = Record::Staff(user_id(1), [StaffPermission::Support].into_iter().collect());
    let gone = |key: Key| Mutation::Remove(key);
    for (written, mutation) in [
        ("a guild", Mutation::Put(Record::Guild(a_guild(1)))),
        ("a name", Mutation::Put(renamed.clone())),
        ("a role", Mutation::Put(Record::Member(a_member(1, 1, &[5])))),
        ("a removed role", gone(Key::Member(guild_id(1), user_id(1)))),
        ("the user's subscription", Mutation::Put(Record::Subscription(a_subscription(1, &[])))),
        ("a subscription that names a guild", Mutation::Put(Record::Subscription(a_subscription(2, &[1])))),
        ("the end of the user's subscription", gone(Key::Subscription(user_id(1)))),
        ("the end of another subscription", gone(Key::Subscription(user_id(2)))),
        ("a staff grant", Mutation::Put(staff)),
        ("a removed staff grant", gone(Key::Staff(user_id(1)))),
        ("a block", Mutation::Put(Record::Blocked(user_id(1)))),
        ("a lifted block", gone(Key::Blocked(user_id(1)))),
        ("a removed guild", gone(Key::Guild(guild_id(1)))),
    ] {
        records.write(mutation).await.unwrap();
        scene.shows(written).await;
    }
    records.sync(&Replace::default(), &mut Stream::of([renamed])).await.unwrap();
    scene.shows("a sync").await;
    let version = granted(&scene.node.stores, user_id(1), &grant(&[])).await;
    scene.shows("a new grant").await;
    let version = grants.update(user_id(1), version, &grant(&[1]), ClaimAfter::Released).await.unwrap();
    scene.shows("a refreshed list").await;
    assert!(grants.remove_unused(user_id(1), version).await.unwrap());
    scene.shows("a removed unused grant").await;
    granted(&scene.node.stores, user_id(1), &grant(&[1])).await;
    scene.shows("a grant again").await;
    records.forget(user_id(1)).await.unwrap();
    scene.shows("a forgotten user").await;
}

/// A subscriber whose deliveries hang while it is busy.
#[derive(Default)]
struct Stalling {
    is_busy: AtomicBool,
    received: Mutex<Vec<Subject>>,
}

#[async_trait]
impl Subscriber for Stalling {
    async fn receive(&self, batch: &ChangeBatch) -> Result<(), StoreError> {
        if self.is_busy.load(SeqCst) {
            std::future::pending::<()>().await;
        }
        if let ChangeBatch::Changes(changes) = batch {
            self.received.lock().unwrap().extend(changes.iter().map(|change| change.subject.clone()));
        }
        Ok(())
    }
}

#[tokio::test]
async fn delivers_changes_of_cancelled_writers() {
    let node = Node::over(&InMemory::new().ports, PLENTY);
    let subscriber = Arc::new(Stalling::default());
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
    assert_eq!(*subscriber.received.lock().unwrap(), blocked);
}

/// A service with a cache, and a signed-in user who has requested their list once.
struct Warm {
    service: Service,
    token: String,
}

impl Warm {
    async fn new() -> Self {
        let service = Service::new().await;
        service.use_cases.feed.records.put(Record::Guild(a_guild(1))).await.unwrap();
        let token = service.sign_in(vec![an_ownership(1)]).await.expose().to_owned();
        let scene = Self { service, token };
        scene.ask().await;
        scene
    }

    /// Sends a request that may wait for the store.
    async fn ask(&self) {
        let session = self.service.use_cases.authenticate.authenticate(&self.token).await.unwrap();
        self.service.use_cases.list_guilds.list(session.user).await.unwrap();
    }

    fn is_authenticated_from_memory(&self) -> bool {
        self.service.use_cases.authenticate.cached(&self.token).is_some()
    }

    fn is_listed_from_memory(&self) -> bool {
        self.service.use_cases.list_guilds.cached(user_id(1)).is_some()
    }
}

#[tokio::test]
async fn a_poll_reads_nothing_and_a_lookup_counts_one_miss() {
    let world = InMemory::new();
    let node = Node::over(&world.ports, PLENTY);
    let (user, id) = (user_id(1), TokenHash::from_bytes([1; 32]));
    granted(&world.ports.stores, user, &grant(&[1])).await;
    node.dispatcher.catch_up().await.unwrap();
    let misses = || [0, 1].map(|kind: usize| node.cache.statistics()[kind].misses);
    for _ in 0..3 {
        assert!(node.stores.listings().cached(user).is_none() && node.stores.sessions.cached(&id).is_none());
        assert!(node.listing(user).now_or_never().is_none());
        assert!(node.stores.sessions.find(&id).now_or_never().is_none());
    }
    world.scheduler.settled().await;
    assert_eq!(misses(), [0, 0]);
    node.listing(user).await.unwrap();
    assert_eq!(node.stores.sessions.find(&id).await.unwrap(), None);
    assert_eq!(misses(), [1, 1]);
    assert!(node.stores.listings().cached(user).is_some());
}

#[tokio::test]
async fn answers_from_memory_for_a_second() {
    let scene = Warm::new().await;
    let Service { use_cases, world, .. } = &scene.service;
    let session = use_cases.authenticate.cached(&scene.token).unwrap();
    assert_eq!(session, use_cases.authenticate.authenticate(&scene.token).await.unwrap());
    let listing = use_cases.list_guilds.cached(session.user).unwrap();
    assert_eq!(listing, use_cases.list_guilds.list(session.user).await.unwrap());
    assert_eq!(listing.guilds().len(), 1);
    world.clock.advance(Duration::from_micros(999_999));
    assert!(scene.is_authenticated_from_memory() && scene.is_listed_from_memory());
    world.clock.advance(Duration::from_micros(1));
    assert!(!scene.is_authenticated_from_memory() && !scene.is_listed_from_memory());
}

#[tokio::test]
async fn never_answers_ended_or_blocked_users_from_memory() {
    let scene = Warm::new().await;
    scene.service.use_cases.feed.records.put(Record::Blocked(user_id(1))).await.unwrap();
    assert!(!scene.is_listed_from_memory());
    assert!(scene.service.use_cases.list_guilds.list(user_id(1)).await.is_err());
    assert!(!scene.is_listed_from_memory(), "a block is reported by the slow path");
    scene.service.use_cases.sessions.revoke_user(user_id(1)).await.unwrap();
    assert!(!scene.is_authenticated_from_memory());
}

#[tokio::test]
async fn leaves_memory_to_record_a_use_or_refresh_a_list() {
    let scene = Warm::new().await;
    let show = async || scene.service.use_cases.dispatcher.catch_up().await.unwrap();
    let settings = settings();
    scene.service.world.clock.advance(settings.freshness.refresh_after.get());
    show().await;
    assert_eq!((scene.is_authenticated_from_memory(), scene.is_listed_from_memory()), (true, false));
    scene.ask().await;
    assert!(scene.is_listed_from_memory());
    scene.service.world.clock.advance(settings.limits.grain());
    show().await;
    assert!(!scene.is_authenticated_from_memory());
    scene.ask().await;
    assert!(scene.is_authenticated_from_memory());
}

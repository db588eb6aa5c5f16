//! Reloading of changed listings: only the changed part is read, many listings are read in batches, and no answer
//! mixes old and new state.

use crate::{
    every_order::{in_every_order, stepped},
    interleavings::{ENOUGH, preemptions},
    node::{Node, PLENTY, grant},
};
use async_trait::async_trait;
use companion_domain::{
    change::{Key, Kind, max_named},
    model::{Guild, MemberCount, UserId},
    port::{Listing, ListingScope, Listings, Ports, Record, Replace, StoreError, Stores},
};
use companion_testkit::{
    conformance::{prepared::granted, stream::Stream},
    over::{ListingsOver, Over},
    use_cases::InMemory,
    world::{a_guild, a_member, a_subscription, guild_id, name, user_id},
};
use futures_util::FutureExt as _;
use std::{
    cell::RefCell,
    rc::Rc,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};
use tokio::task::yield_now;

const USERS: u64 = 120;

/// Records what is read.
struct Noting {
    inner: Arc<dyn Listings>,
    asked: Mutex<Vec<ListingScope>>,
    batches: Mutex<Vec<usize>>,
    /// Number of batches that succeed before all others fail.
    readable: AtomicUsize,
}

impl Noting {
    fn over(inner: Arc<dyn Listings>) -> Arc<Over<Self>> {
        let readable = AtomicUsize::new(usize::MAX);
        Arc::new(Over(Self { inner, asked: Mutex::default(), batches: Mutex::default(), readable }))
    }

    /// Returns what was read by single reads since the last call.
    fn take(&self) -> Vec<ListingScope> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

#[async_trait]
impl ListingsOver for Noting {
    fn listings(&self) -> &dyn Listings {
        &*self.inner
    }

    async fn read(&self, user: UserId, asked: ListingScope) -> Result<Arc<Listing>, StoreError> {
        self.asked.lock().unwrap().push(asked);
        self.inner.read(user, asked).await
    }

    async fn read_many(&self, users: &[UserId]) -> Result<Vec<Arc<Listing>>, StoreError> {
        let batches = {
            let mut batches = self.batches.lock().unwrap();
            batches.push(users.len());
            batches.len()
        };
        if batches > self.readable.load(SeqCst) {
            return Err(StoreError::unavailable("cut off"));
        }
        self.inner.read_many(users).await
    }
}

struct Many {
    world: InMemory,
    listings: Arc<Over<Noting>>,
    node: Arc<Node>,
}

impl Many {
    /// Many users in the same two guilds. All of them have read their listing once, half of them twice.
    async fn new() -> Self {
        let world = InMemory::new();
        let stores = &world.ports.stores;
        let listings = Noting::over(stores.listings());
        let mut ports = world.ports.clone();
        ports.stores.stored_listings = listings.clone();
        let node = Node::over(&ports, PLENTY);
        for number in [1, 2] {
            stores.records.put(Record::Guild(a_guild(number))).await.unwrap();
        }
        for user in 1..=USERS {
            granted(stores, user_id(user), &grant(&[1, 2])).await;
        }
        node.settle().await;
        for asked in [1..=USERS, 1..=USERS / 2] {
            for user in asked {
                node.listing(user_id(user)).await.unwrap();
            }
        }
        assert_eq!(listings.take().len() as u64, USERS);
        Self { world, listings, node }
    }

    /// Renames the first guild on another node, in a sync so large that the feed names only kinds.
    async fn is_synced_elsewhere(&self) {
        let renamed = Guild { name: name("Renamed"), ..a_guild(1) };
        let many = max_named(Kind::Guild) as u64;
        let guilds = (3..many + 3).map(|number| Record::Guild(a_guild(number)));
        let records = guilds.chain([Record::Guild(renamed)]);
        let mut source = Stream::of(records);
        self.world.ports.stores.records.sync(&Replace::default(), &mut source).await.unwrap();
    }
}

async fn shown_name(node: &Node, user: u64) -> String {
    let listing = node.listing(user_id(user)).await.unwrap();
    let first = listing.guilds.iter().find(|seen| seen.guild.id == guild_id(1)).unwrap();
    first.guild.name.as_str().to_owned()
}

#[tokio::test]
async fn loads_on_demand_what_failed_to_reload_after_a_sync() {
    for readable in [0, 1] {
        let scene = Many::new().await;
        scene.listings.readable.store(readable, SeqCst);
        scene.is_synced_elsewhere().await;
        scene.node.settle().await;
        for user in 1..=USERS {
            assert_eq!(shown_name(&scene.node, user).await, "Renamed", "user {user}, {readable} batches");
        }
    }
}

#[tokio::test]
async fn reloads_used_listings_in_batches_after_a_sync() {
    let scene = Many::new().await;
    scene.is_synced_elsewhere().await;
    scene.node.settle().await;
    let batches = std::mem::take(&mut *scene.listings.batches.lock().unwrap());
    assert_eq!(batches.iter().sum::<usize>(), usize::try_from(USERS / 2).unwrap(), "{batches:?}");
    assert!(batches.len() <= 3, "{batches:?}");
    for user in 1..=USERS / 2 {
        assert_eq!(shown_name(&scene.node, user).await, "Renamed");
    }
    assert_eq!(scene.listings.take(), [], "all of them are cached");
    assert_eq!(shown_name(&scene.node, USERS).await, "Renamed");
    assert_eq!(scene.listings.take().len(), 1);
}

#[tokio::test]
async fn keeps_the_instance_of_an_unchanged_listing() {
    let scene = Many::new().await;
    let before = scene.node.listing(user_id(1)).await.unwrap();
    scene.is_synced_elsewhere().await;
    scene.world.ports.stores.records.put(Record::Guild(a_guild(1))).await.unwrap();
    scene.node.settle().await;
    let after = scene.node.listing(user_id(1)).await.unwrap();
    assert!(Arc::ptr_eq(&before, &after), "its rendered bytes can be reused");
}

#[tokio::test]
async fn applies_blocks_before_reloading() {
    let scene = Many::new().await;
    let records = (1..=1500).map(|user| Record::Blocked(user_id(user)));
    let mut source = Stream::of(records);
    let replace = Replace { kinds: [Kind::Blocked].into(), shard: None };
    scene.world.ports.stores.records.sync(&replace, &mut source).await.unwrap();
    scene.node.settle().await;
    assert!(scene.listings.batches.lock().unwrap().is_empty());
    for user in [1, USERS] {
        assert!(scene.node.listing(user_id(user)).await.unwrap().blocked);
    }
}

const USER: u64 = 1;

fn version(guild: u64, number: u64) -> Guild {
    Guild { members: MemberCount::new(number).unwrap(), ..a_guild(guild) }
}

/// Two guilds with the bot and one without, all of them in one cached listing.
struct OneGuild {
    elsewhere: Stores,
    listings: Arc<Over<Noting>>,
    node: Arc<Node>,
}

impl OneGuild {
    async fn new() -> Self {
        let world = InMemory::new();
        let stores = world.ports.stores.clone();
        granted(&stores, user_id(USER), &grant(&[1, 2, 3])).await;
        stores.records.put(Record::Guild(version(1, 1))).await.unwrap();
        stores.records.put(Record::Guild(version(2, 1))).await.unwrap();
        stores.records.put(Record::Subscription(a_subscription(9, &[1, 2]))).await.unwrap();
        let listings = Noting::over(stores.listings());
        let mut ports = world.ports.clone();
        ports.stores.stored_listings = listings.clone();
        let node = Node::over(&ports, PLENTY);
        node.settle().await;
        node.listing(user_id(USER)).await.unwrap();
        listings.take();
        Self { elsewhere: stores, listings, node }
    }

    /// Returns what the next answer reads from the store, and asserts that it shows what is stored.
    async fn asked(&self) -> Vec<ListingScope> {
        self.node.settle().await;
        let shown = self.node.listing(user_id(USER)).await.unwrap();
        let asked = self.listings.take();
        let stored = self.elsewhere.listings().read(user_id(USER), ListingScope::List).await.unwrap();
        assert_eq!(sorted(&shown), sorted(&stored));
        asked
    }
}

/// Sorts the parts of a listing, whose order is not defined.
fn sorted(listing: &Listing) -> Listing {
    let mut sorted = listing.clone();
    sorted.guilds.sort_by_key(|seen| seen.guild.id);
    sorted.guild_subscriptions.sort_by_key(|guild_subscriptions| guild_subscriptions.user);
    sorted
}

#[tokio::test]
async fn reloads_only_the_guild_that_changed() {
    let scene = OneGuild::new().await;
    let records = &scene.elsewhere.records;
    assert_eq!(scene.asked().await, []);
    records.put(Record::Guild(version(1, 2))).await.unwrap();
    assert_eq!(scene.asked().await, [ListingScope::Guild(guild_id(1))]);
    records.put(Record::Guild(version(3, 1))).await.unwrap();
    assert_eq!(scene.asked().await, [ListingScope::Guild(guild_id(3))]);
    records.remove(Key::Guild(guild_id(2))).await.unwrap();
    assert_eq!(scene.asked().await, [ListingScope::Guild(guild_id(2))]);
    records.put(Record::Subscription(a_subscription(8, &[2]))).await.unwrap();
    assert_eq!(scene.asked().await, [ListingScope::Guild(guild_id(2))], "a subscription names it");
    assert_eq!(scene.asked().await, []);
}

#[tokio::test]
async fn reloads_the_whole_listing_if_more_has_changed() {
    let scene = OneGuild::new().await;
    let records = &scene.elsewhere.records;
    for guild in [1, 2] {
        records.put(Record::Guild(version(guild, 2))).await.unwrap();
    }
    assert_eq!(scene.asked().await, [ListingScope::List]);
    records.put(Record::Guild(version(1, 3))).await.unwrap();
    records.put(Record::Member(a_member(2, USER, &[7]))).await.unwrap();
    assert_eq!(scene.asked().await, [ListingScope::List]);
    records.put(Record::Subscription(a_subscription(9, &[2]))).await.unwrap();
    assert_eq!(scene.asked().await, [ListingScope::List], "the subscription no longer names one of them");
}

/// Returns the versions of a listing's guilds.
fn versions(listing: &Listing) -> Vec<u32> {
    sorted(listing).guilds.iter().map(|seen| seen.guild.members.get()).collect()
}

#[test]
fn answers_are_consistent_in_every_order() {
    let runs = in_every_order(preemptions(ENOUGH), |tasks| {
        let world = InMemory::new();
        let stores = world.ports.stores.clone();
        let prepare = async {
            granted(&stores, user_id(USER), &grant(&[1, 2])).await;
            stores.records.put(Record::Guild(version(1, 1))).await.unwrap();
            stores.records.put(Record::Guild(version(2, 1))).await.unwrap();
        };
        prepare.now_or_never().unwrap();
        let ports = Ports { scheduler: tasks.scheduler(), stores: stepped(&stores), ..world.ports };
        let node = Node::over(&ports, PLENTY);
        node.dispatcher.catch_up().now_or_never().unwrap().unwrap();
        // The stored versions after each write.
        let moments = Rc::new(RefCell::new(vec![vec![1, 1]]));
        let (elsewhere, known, reader) = (stores.clone(), moments.clone(), node.clone());
        tasks.add(async move {
            reader.listing(user_id(USER)).await.unwrap();
            sync_elsewhere(&reader, &elsewhere, &known, &[(1, 2)]).await;
            let shown = versions(&reader.listing(user_id(USER)).await.unwrap());
            assert!(known.borrow().contains(&shown), "{shown:?} was never stored: {known:?}");
        });
        let (elsewhere, known, told) = (stores.clone(), moments, node.clone());
        tasks.add(async move { sync_elsewhere(&told, &elsewhere, &known, &[(1, 3), (2, 3)]).await });
        Box::pin(async move {
            node.dispatcher.catch_up().await.unwrap();
            let stored = stores.listings().read(user_id(USER), ListingScope::List).await.unwrap();
            let shown = node.listing(user_id(USER)).await.unwrap();
            assert_eq!(sorted(&shown), sorted(&stored));
        })
    });
    assert!(runs > 100, "only {runs} orders");
}

/// Writes versions of guilds in one step on another node; this one catches up later.
async fn sync_elsewhere(
    node: &Node,
    stores: &Stores,
    moments: &RefCell<Vec<Vec<u32>>>,
    guilds: &[(u64, u64)],
) {
    let records = guilds.iter().map(|(guild, number)| Record::Guild(version(*guild, *number)));
    stores.records.sync(&Replace::default(), &mut Stream::of(records)).await.unwrap();
    let stored = stores.listings().read(user_id(USER), ListingScope::List).await.unwrap();
    moments.borrow_mut().push(versions(&stored));
    yield_now().await;
    node.dispatcher.catch_up().await.unwrap();
}

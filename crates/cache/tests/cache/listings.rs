//! Reloading of changed listings: only the changed part is read, and no answer mixes old and new state.

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
    world::{a_guild, a_member, a_subscription, guild_id, user_id},
};
use futures_util::FutureExt as _;
use std::{
    cell::RefCell,
    rc::Rc,
    sync::{Arc, Mutex},
};
use tokio::task::yield_now;

/// Records what is read.
struct Noting {
    inner: Arc<dyn Listings>,
    asked: Mutex<Vec<ListingScope>>,
}

impl Noting {
    /// Returns what was read since the last call.
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
        let listings = Arc::new(Over(Noting { inner: stores.listings(), asked: Mutex::default() }));
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

#[tokio::test]
async fn reads_again_after_a_sync_whose_changes_are_summarised() {
    let scene = OneGuild::new().await;
    let many = max_named(Kind::Guild) as u64 + 2;
    let renamed = (2..=many).map(|guild| Record::Guild(version(guild, 2)));
    scene.elsewhere.records.sync(&Replace::default(), &mut Stream::of(renamed)).await.unwrap();
    assert_eq!(scene.asked().await, [ListingScope::List]);
    let many = max_named(Kind::Blocked) as u64 + 1;
    let blocked = (1..=many).map(|user| Record::Blocked(user_id(user)));
    scene.elsewhere.records.sync(&Replace::default(), &mut Stream::of(blocked)).await.unwrap();
    assert_eq!(scene.asked().await, [ListingScope::List]);
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

//! A listing of which one guild has changed: only that is read again, and no answer mixes what was with what is.

use crate::{
    every_order::{in_every_order, step},
    node::{Node, PLENTY, Source, grant},
    stepped::stepped,
};
use async_trait::async_trait;
use companion_domain::{
    change::Key,
    model::{Guild, MemberCount, UserId},
    port::{Asked, Listing, Listings, Ports, Record, Replace, StoreError, Stores},
};
use companion_testkit::{
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

const USER: u64 = 1;

fn version(guild: u64, number: u64) -> Guild {
    Guild { members: MemberCount::new(number).unwrap(), ..a_guild(guild) }
}

/// Listings that note what is asked of them.
struct Noting {
    inner: Arc<dyn Listings>,
    asked: Mutex<Vec<Asked>>,
}

#[async_trait]
impl ListingsOver for Noting {
    fn listings(&self) -> &dyn Listings {
        &*self.inner
    }

    async fn read(&self, user: UserId, asked: Asked) -> Result<Arc<Listing>, StoreError> {
        self.asked.lock().unwrap().push(asked);
        self.inner.read(user, asked).await
    }
}

/// Two guilds with the bot and one without, all three in one list that is in memory.
struct Scene {
    elsewhere: Stores,
    listings: Arc<Over<Noting>>,
    node: Arc<Node>,
}

impl Scene {
    async fn new() -> Self {
        let world = InMemory::new();
        let stores = world.ports.stores.clone();
        stores.grants.replace(user_id(USER), &grant(&[1, 2, 3])).await.unwrap();
        stores.records.put(Record::Guild(version(1, 1))).await.unwrap();
        stores.records.put(Record::Guild(version(2, 1))).await.unwrap();
        stores.records.put(Record::Subscription(a_subscription(9, &[1, 2]))).await.unwrap();
        let listings = Arc::new(Over(Noting { inner: stores.listings(), asked: Mutex::default() }));
        let mut ports = world.ports.clone();
        ports.stores.stored_listings = listings.clone();
        let node = Node::over(&ports, PLENTY);
        node.settle().await;
        node.listing(user_id(USER)).await.unwrap();
        listings.asked.lock().unwrap().clear();
        Self { elsewhere: stores, listings, node }
    }

    /// What is asked of the store for the next answer, which says what is stored.
    async fn asked(&self) -> Vec<Asked> {
        self.node.settle().await;
        let shown = self.node.listing(user_id(USER)).await.unwrap();
        let asked = std::mem::take(&mut *self.listings.asked.lock().unwrap());
        let stored = self.elsewhere.listings().read(user_id(USER), Asked::List).await.unwrap();
        assert_eq!(sorted(&shown), sorted(&stored));
        asked
    }
}

/// A listing has its parts in any order.
fn sorted(listing: &Listing) -> Listing {
    let mut sorted = listing.clone();
    sorted.guilds.sort_by_key(|seen| seen.guild.id);
    sorted.naming.sort_by_key(|naming| naming.user);
    sorted
}

#[tokio::test]
async fn of_a_guild_that_changes_comes_or_goes_nothing_else_is_read_again() {
    let scene = Scene::new().await;
    let records = &scene.elsewhere.records;
    assert_eq!(scene.asked().await, []);
    records.put(Record::Guild(version(1, 2))).await.unwrap();
    assert_eq!(scene.asked().await, [Asked::Guild(guild_id(1))]);
    records.put(Record::Guild(version(3, 1))).await.unwrap();
    assert_eq!(scene.asked().await, [Asked::Guild(guild_id(3))]);
    records.remove(Key::Guild(guild_id(2))).await.unwrap();
    assert_eq!(scene.asked().await, [Asked::Guild(guild_id(2))]);
    records.put(Record::Subscription(a_subscription(8, &[2]))).await.unwrap();
    assert_eq!(scene.asked().await, [Asked::Guild(guild_id(2))], "someone makes it premium");
    assert_eq!(scene.asked().await, []);
}

#[tokio::test]
async fn where_more_has_changed_everything_is_read() {
    let scene = Scene::new().await;
    let records = &scene.elsewhere.records;
    for guild in [1, 2] {
        records.put(Record::Guild(version(guild, 2))).await.unwrap();
    }
    assert_eq!(scene.asked().await, [Asked::List]);
    records.put(Record::Guild(version(1, 3))).await.unwrap();
    records.put(Record::Member(a_member(2, USER, &[7]))).await.unwrap();
    assert_eq!(scene.asked().await, [Asked::List]);
    records.put(Record::Subscription(a_subscription(9, &[2]))).await.unwrap();
    assert_eq!(scene.asked().await, [Asked::List], "the subscription of both has left one");
}

/// Both versions of a listing's guilds.
fn versions(listing: &Listing) -> Vec<u32> {
    sorted(listing).guilds.iter().map(|seen| seen.guild.members.get()).collect()
}

#[test]
fn in_every_order_an_answer_shows_what_was_stored_at_one_moment() {
    let runs = in_every_order(usize::MAX, |tasks| {
        let world = InMemory::new();
        let stores = world.ports.stores.clone();
        let prepare = async {
            stores.grants.replace(user_id(USER), &grant(&[1, 2])).await.unwrap();
            stores.records.put(Record::Guild(version(1, 1))).await.unwrap();
            stores.records.put(Record::Guild(version(2, 1))).await.unwrap();
        };
        prepare.now_or_never().unwrap();
        let ports = Ports { scheduler: tasks.scheduler(), stores: stepped(&stores), ..world.ports };
        let node = Node::over(&ports, PLENTY);
        node.following.catch_up().now_or_never().unwrap().unwrap();
        // What was stored, moment by moment.
        let moments = Rc::new(RefCell::new(vec![vec![1, 1]]));
        let (elsewhere, known, reader) = (stores.clone(), moments.clone(), node.clone());
        tasks.add(async move {
            reader.listing(user_id(USER)).await.unwrap();
            tell(&reader, &elsewhere, &known, &[(1, 2)]).await;
            let shown = versions(&reader.listing(user_id(USER)).await.unwrap());
            assert!(known.borrow().contains(&shown), "{shown:?} was never stored: {known:?}");
        });
        let (elsewhere, known, told) = (stores.clone(), moments, node.clone());
        tasks.add(async move { tell(&told, &elsewhere, &known, &[(1, 3), (2, 3)]).await });
        Box::pin(async move {
            node.following.catch_up().await.unwrap();
            let stored = stores.listings().read(user_id(USER), Asked::List).await.unwrap();
            let shown = node.listing(user_id(USER)).await.unwrap();
            assert_eq!(sorted(&shown), sorted(&stored));
        })
    });
    assert!(runs > 100, "{runs} orders are hardly all");
}

/// Guilds of these versions are written in one step, and the node learns of it some time later.
async fn tell(node: &Node, stores: &Stores, moments: &RefCell<Vec<Vec<u32>>>, guilds: &[(u64, u64)]) {
    let records = guilds.iter().map(|(guild, number)| Record::Guild(version(*guild, *number)));
    stores.records.sync(&Replace::default(), &mut Source::of(records)).await.unwrap();
    let stored = stores.listings().read(user_id(USER), Asked::List).await.unwrap();
    moments.borrow_mut().push(versions(&stored));
    step().await;
    node.following.catch_up().await.unwrap();
}

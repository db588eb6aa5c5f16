//! Changed listings: what this process has put is not read again, and no answer mixes old and new state.

use crate::{
    every_order::{in_every_order, stepped},
    interleavings::{ENOUGH, preemptions},
    node::{Node, PLENTY, grant},
};
use async_trait::async_trait;
use companion_domain::{
    change::{Key, Kind, max_named},
    model::{Guild, MemberCount, UserId},
    port::{Listing, ListingScope, Listings, Mutation, Ports, Record, Replace, StoreError, Stores},
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
const MOST_PREEMPTIONS: usize = 4;

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
async fn shows_what_this_process_has_put_without_reading_it() {
    let scene = OneGuild::new().await;
    let (here, elsewhere) = (&scene.node.stores.records, &scene.elsewhere.records);
    let put = |guild, number| Record::Guild(version(guild, number));
    assert_eq!(scene.asked().await, []);
    here.put(put(1, 2)).await.unwrap();
    here.put(put(1, 3)).await.unwrap();
    assert_eq!(scene.asked().await, []);
    let mut several = Stream::of([put(1, 4), put(2, 4), put(1, 5)]);
    here.sync(&Replace::default(), &mut several).await.unwrap();
    assert_eq!(scene.asked().await, []);
    let remove = Mutation::Remove(Key::Guild(guild_id(1)));
    here.apply(vec![remove.clone(), Mutation::Put(put(1, 6))]).await.unwrap();
    assert_eq!(scene.asked().await, [ListingScope::List], "its members were removed");
    here.apply(vec![Mutation::Put(put(1, 6)), remove]).await.unwrap();
    assert_eq!(scene.asked().await, [ListingScope::List], "it was removed in the end");
    here.put(put(1, 7)).await.unwrap();
    assert_eq!(scene.asked().await, [ListingScope::List], "its roles are not known");
    here.put(put(1, 8)).await.unwrap();
    elsewhere.put(put(1, 9)).await.unwrap();
    assert_eq!(scene.asked().await, [ListingScope::List], "another process has changed it");
    here.put(put(1, 10)).await.unwrap();
    elsewhere.put(put(2, 10)).await.unwrap();
    assert_eq!(scene.asked().await, [ListingScope::List], "another process has changed the other");
    here.put(put(1, 11)).await.unwrap();
    elsewhere.put(Record::Member(a_member(2, USER, &[7]))).await.unwrap();
    assert_eq!(scene.asked().await, [ListingScope::List], "the roles have changed");
    here.put(put(1, 12)).await.unwrap();
    here.put(Record::Subscription(a_subscription(9, &[2]))).await.unwrap();
    assert_eq!(scene.asked().await, [ListingScope::List], "the subscription no longer names one of them");
    assert_eq!(scene.asked().await, []);
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

/// Writes versions of guilds in one step.
async fn sync(stores: &Stores, guilds: &[(u64, u64)]) {
    let records = guilds.iter().map(|(guild, number)| Record::Guild(version(*guild, *number)));
    stores.records.sync(&Replace::default(), &mut Stream::of(records)).await.unwrap();
}

#[test]
fn answers_are_consistent_in_every_order() {
    // Three tasks have far more orders than two: not all of them can be run.
    let runs = in_every_order(preemptions(ENOUGH).min(MOST_PREEMPTIONS), |tasks| {
        let world = InMemory::new();
        let stores = world.ports.stores.clone();
        let prepare = async {
            granted(&stores, user_id(USER), &grant(&[1, 2])).await;
            for guild in [1, 2] {
                stores.records.put(Record::Guild(version(guild, 1))).await.unwrap();
            }
        };
        prepare.now_or_never().unwrap();
        let ports = Ports { scheduler: tasks.scheduler(), stores: stepped(&stores), ..world.ports };
        let node = Node::over(&ports, PLENTY);
        node.dispatcher.catch_up().now_or_never().unwrap().unwrap();
        let answers = Rc::new(RefCell::new(Vec::new()));
        let (reader, answered) = (node.clone(), answers.clone());
        tasks.add(async move {
            for _ in 0..3 {
                let shown = versions(&reader.listing(user_id(USER)).await.unwrap());
                answered.borrow_mut().push(shown);
                yield_now().await;
            }
        });
        let here = node.clone();
        tasks.add(async move { sync(&here.stores, &[(1, 2)]).await });
        let (elsewhere, told) = (stores.clone(), node.clone());
        tasks.add(async move {
            sync(&elsewhere, &[(1, 3), (2, 3)]).await;
            yield_now().await;
            told.dispatcher.catch_up().await.unwrap();
        });
        Box::pin(async move {
            node.dispatcher.catch_up().await.unwrap();
            let stored = stores.listings().read(user_id(USER), ListingScope::List).await.unwrap();
            let shown = node.listing(user_id(USER)).await.unwrap();
            assert_eq!(sorted(&shown), sorted(&stored));
            // Which write came first shows in the end.
            let last = versions(&stored);
            let second = if last == [3, 3] { vec![2, 1] } else { vec![3, 3] };
            let answers = answers.borrow();
            let is_stored = |shown: &Vec<u32>| [vec![1, 1], second.clone(), last.clone()].contains(shown);
            assert!(answers.iter().all(is_stored), "{answers:?}, though {second:?} came before {last:?}");
        })
    });
    assert!(runs > 100, "only {runs} orders");
}

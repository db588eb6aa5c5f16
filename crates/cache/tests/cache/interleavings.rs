//! Interleavings of loads, changes and evictions: no entry is older than its reader may expect. By default the orders
//! with few preemptions are run, with `ORDERS=full` all of them.
//!
//! The guild's member count is its version, and so is the number of a subscription's slots. A read after a write
//! through the same node must see that write, whatever was being loaded meanwhile. Once a node has caught up, it
//! shows what is stored.

use crate::{
    every_order::{Task, Tasks, in_every_order, stepped},
    node::{Node, grant},
};
use companion_domain::{
    model::{Guild, MemberCount, Slots, Subscription},
    port::{ListingScope, Ports, Record, Stores},
    session::Session,
};
use companion_testkit::{
    conformance::prepared::granted,
    use_cases::InMemory,
    world::{NONE_ENDED, a_guild, a_member, a_session, a_subscription, at, user_id},
};
use futures_util::FutureExt as _;
use std::{cell::Cell, num::NonZeroU32, rc::Rc, sync::Arc};
use tokio::task::yield_now;

const USERS: [u64; 2] = [1, 2];
const SPONSOR: u64 = 9;
/// Memory for all entries of a scene, and for one or two of them.
pub(crate) const ENOUGH: u64 = 256 << 10;
const SCARCE: u64 = 4 << 10;
/// Lost races need few preemptions; each additional one multiplies the number of orders.
const PREEMPTIONS: usize = 2;

fn version(number: u32) -> Guild {
    Guild { members: MemberCount::new(number.into()).unwrap(), ..a_guild(1) }
}

fn sponsored(slots: u32) -> Subscription {
    Subscription { slots: Slots::new(slots.into()).unwrap(), ..a_subscription(SPONSOR, &[1]) }
}

fn the_session() -> Session {
    a_session(1, 1, at(1))
}

/// One world per run: users in two guilds, one of which has the bot and a sponsor, and a session.
struct Scene<'a> {
    tasks: &'a Tasks,
    /// The stores as other nodes see them.
    elsewhere: Stores,
    node: Arc<Node>,
    /// The newest version whose write through the node has returned.
    written: Rc<Cell<u32>>,
}

impl<'a> Scene<'a> {
    fn new(tasks: &'a Tasks, memory: u64) -> Self {
        let world = InMemory::new();
        let stores = world.ports.stores.clone();
        let prepare = async {
            create_session(&stores).await;
            for user in USERS {
                granted(&stores, user_id(user), &grant(&[1, 2])).await;
            }
            stores.records.put(Record::Guild(version(1))).await.unwrap();
            stores.records.put(Record::Subscription(sponsored(1))).await.unwrap();
        };
        prepare.now_or_never().unwrap();
        let ports = Ports { scheduler: tasks.scheduler(), stores: stepped(&stores), ..world.ports };
        let node = Node::over(&ports, memory);
        // The first pass only reads the position of the feed, which takes no step.
        node.dispatcher.catch_up().now_or_never().unwrap().unwrap();
        Self { tasks, elsewhere: stores, node, written: Rc::new(Cell::new(1)) }
    }

    /// Reads a listing through the node. It must show every write that returned before.
    fn reads(&self, user: u64) {
        self.tasks.add(self.reading(user));
    }

    fn reading(&self, user: u64) -> impl Future<Output = ()> + use<> {
        let (node, written) = (self.node.clone(), self.written.clone());
        async move {
            let expected = written.get();
            let shown = shown(&node, user).await;
            assert!(shown >= expected, "{shown}, though {expected} was written before");
        }
    }

    fn reading_session(&self) -> impl Future<Output = ()> + use<> {
        let (node, written) = (self.node.clone(), self.written.clone());
        async move {
            let ended = written.get() > 1;
            let found = node.stores.sessions.find(&the_session().id).await.unwrap();
            assert!(!ended || found.is_none(), "it was revoked before");
        }
    }

    /// Adds two equal tasks, the second when the first begins. Every other order is one of these with the two exchanged.
    fn add_symmetric(
        &self,
        first: impl Future<Output = ()> + 'static,
        second: impl Future<Output = ()> + 'static,
    ) {
        let tasks = self.tasks.clone();
        self.tasks.add(async move {
            tasks.add(second);
            first.await;
        });
    }

    /// Writes a version through the node.
    fn writes(&self, number: u32, write: impl AsyncFnOnce(&Stores) + 'static) {
        let (node, written) = (self.node.clone(), self.written.clone());
        self.tasks.add(async move {
            write(&node.stores).await;
            written.set(written.get().max(number));
        });
    }

    /// Writes a version through another node; this one catches up later.
    fn is_told(&self, number: u32, write: impl AsyncFnOnce(&Stores) + 'static) {
        let (node, stores, written) = (self.node.clone(), self.elsewhere.clone(), self.written.clone());
        self.tasks.add(async move {
            write(&stores).await;
            yield_now().await;
            node.dispatcher.catch_up().await.unwrap();
            written.set(written.get().max(number));
        });
    }

    /// Writes the second version through this node, or through another one.
    fn changes(&self, here: bool, write: impl AsyncFnOnce(&Stores) + 'static) {
        if here { self.writes(2, write) } else { self.is_told(2, write) }
    }

    /// Asserts that in the end the node shows what is stored.
    fn end(self) -> Task {
        let Self { elsewhere, node, .. } = self;
        Box::pin(async move {
            node.dispatcher.catch_up().await.unwrap();
            for user in USERS.map(user_id) {
                let stored = elsewhere.listings().read(user, ListingScope::List).await.unwrap();
                assert_eq!(node.listing(user).await.unwrap(), stored);
            }
            let id = the_session().id;
            let stored = elsewhere.sessions.find(&id).await.unwrap();
            assert_eq!(node.stores.sessions.find(&id).await.unwrap(), stored);
        })
    }
}

/// Returns the newest version that a listing shows.
async fn shown(node: &Node, user: u64) -> u32 {
    let listing = node.listing(user_id(user)).await.unwrap();
    let members = listing.guilds.first().map_or(u32::MAX, |seen| seen.guild.members.get());
    let slots = listing
        .guild_subscriptions
        .first()
        .map_or(u32::MAX, |guild_subscriptions| guild_subscriptions.slots.get());
    if slots > 1 { slots } else { members }
}

async fn put_guild(stores: &Stores) {
    stores.records.put(Record::Guild(version(2))).await.unwrap();
}

async fn put_subscription(stores: &Stores) {
    stores.records.put(Record::Subscription(sponsored(2))).await.unwrap();
}

async fn create_session(stores: &Stores) {
    stores.sign_ins.begin(&the_session(), NonZeroU32::MAX, NONE_ENDED, &grant(&[1, 2])).await.unwrap();
}

async fn end_session(stores: &Stores) {
    stores.sessions.revoke(&the_session().id).await.unwrap();
}

/// Number of preemptions per order; unlimited with `ORDERS=full`. Scarce memory gets one less, because its evictions
/// multiply the number of orders.
pub(crate) fn preemptions(memory: u64) -> usize {
    let is_full = std::env::var("ORDERS").is_ok_and(|orders| orders == "full");
    match memory {
        _ if is_full => usize::MAX,
        SCARCE => PREEMPTIONS - 1,
        _ => PREEMPTIONS,
    }
}

/// Runs a scenario with writes here and elsewhere, with memory for all entries and for hardly any.
fn check(scenario: impl Fn(&Scene<'_>, bool)) {
    for (memory, here) in [(ENOUGH, true), (ENOUGH, false), (SCARCE, true), (SCARCE, false)] {
        let runs = in_every_order(preemptions(memory), |tasks| {
            let scene = Scene::new(tasks, memory);
            scenario(&scene, here);
            scene.end()
        });
        assert!(runs > 10, "only {runs} orders");
    }
}

#[test]
fn guild_write_during_two_reads() {
    check(|scene, here| {
        scene.add_symmetric(scene.reading(1), scene.reading(1));
        scene.changes(here, put_guild);
    });
}

#[test]
fn subscription_write_during_a_read_of_its_guild() {
    check(|scene, here| {
        scene.reads(1);
        scene.changes(here, put_subscription);
    });
}

#[test]
fn session_end_during_two_lookups() {
    check(|scene, here| {
        scene.add_symmetric(scene.reading_session(), scene.reading_session());
        scene.changes(here, end_session);
    });
}

#[test]
fn session_restore_during_two_lookups() {
    check(|scene, here| {
        end_session(&scene.elsewhere).now_or_never().unwrap();
        let (node, written) = (scene.node.clone(), scene.written.clone());
        scene.tasks.add(async move {
            for _ in 0..2 {
                let is_back = written.get() > 1;
                let found = node.stores.sessions.find(&the_session().id).await.unwrap();
                assert!(!is_back || found.is_some(), "it was brought back before");
            }
        });
        scene.changes(here, create_session);
    });
}

#[test]
fn writes_here_and_elsewhere_during_a_read() {
    check(|scene, _| {
        scene.reads(1);
        scene.writes(2, put_guild);
        scene.is_told(1, async |stores| {
            stores.records.put(Record::Member(a_member(1, 1, &[7]))).await.unwrap();
        });
    });
}

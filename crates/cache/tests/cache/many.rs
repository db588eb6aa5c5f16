//! Changes to many things at once make copies doubtful: those in use are read again in batches, and nobody asks in a herd.

use crate::node::{Node, PLENTY, Source, grant};
use async_trait::async_trait;
use companion_domain::{
    change::Kind,
    model::{Guild, UserId},
    port::{Asked, Listing, Listings, Record, Replace, StoreError},
};
use companion_testkit::{
    over::{ListingsOver, Over},
    use_cases::InMemory,
    world::{a_guild, a_member, guild_id, name, user_id},
};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst},
};

const USERS: u64 = 120;

/// Listings that count how they are read.
struct Counting {
    inner: Arc<dyn Listings>,
    single: AtomicU32,
    batches: Mutex<Vec<usize>>,
    /// How many batches are read before all others fail.
    readable: AtomicUsize,
}

#[async_trait]
impl ListingsOver for Counting {
    fn listings(&self) -> &dyn Listings {
        &*self.inner
    }

    async fn read(&self, user: UserId, asked: Asked) -> Result<Arc<Listing>, StoreError> {
        self.single.fetch_add(1, SeqCst);
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

struct Scene {
    world: InMemory,
    listings: Arc<Over<Counting>>,
    node: Arc<Node>,
}

impl Scene {
    /// Many users in the same two guilds; all of them have asked once, and some of them twice.
    async fn new() -> Self {
        let world = InMemory::new();
        let stores = &world.ports.stores;
        let listings = Arc::new(Over(Counting {
            inner: stores.listings(),
            single: AtomicU32::new(0),
            batches: Mutex::default(),
            readable: AtomicUsize::new(usize::MAX),
        }));
        let mut ports = world.ports.clone();
        ports.stores.stored_listings = listings.clone();
        let node = Node::over(&ports, PLENTY);
        for number in [1, 2] {
            stores.records.put(Record::Guild(a_guild(number))).await.unwrap();
        }
        for user in 1..=USERS {
            stores.grants.replace(user_id(user), &grant(&[1, 2])).await.unwrap();
        }
        node.settle().await;
        for asked in [1..=USERS, 1..=USERS / 2] {
            for user in asked {
                node.listing(user_id(user)).await.unwrap();
            }
        }
        assert_eq!(listings.single.swap(0, SeqCst), u32::try_from(USERS).unwrap());
        Self { world, listings, node }
    }

    fn singles(&self) -> u32 {
        self.listings.single.swap(0, SeqCst)
    }

    /// Someone else renames the first guild in a sync that brings so much that only kinds are told.
    async fn is_synced_elsewhere(&self) {
        let renamed = Guild { name: name("Renamed"), ..a_guild(1) };
        let guilds = (3..=2000).map(|number| Record::Guild(a_guild(number)));
        let records = guilds.chain([Record::Guild(renamed)]);
        let mut source = Source::of(records);
        self.world.ports.stores.records.sync(&Replace::default(), &mut source).await.unwrap();
    }
}

async fn shown_name(node: &Node, user: u64) -> String {
    let listing = node.listing(user_id(user)).await.unwrap();
    let first = listing.guilds.iter().find(|seen| seen.guild.id == guild_id(1)).unwrap();
    first.guild.name.as_str().to_owned()
}

#[tokio::test]
async fn after_a_sync_those_that_could_not_be_read_again_are_read_when_they_come() {
    for readable in [0, 1] {
        let scene = Scene::new().await;
        scene.listings.readable.store(readable, SeqCst);
        scene.is_synced_elsewhere().await;
        scene.node.settle().await;
        for user in 1..=USERS {
            assert_eq!(shown_name(&scene.node, user).await, "Renamed", "user {user}, {readable} batches");
        }
    }
}

#[tokio::test]
async fn after_a_sync_those_in_use_are_read_again_in_batches_and_the_others_when_they_come() {
    let scene = Scene::new().await;
    scene.is_synced_elsewhere().await;
    scene.node.settle().await;
    let batches = std::mem::take(&mut *scene.listings.batches.lock().unwrap());
    assert_eq!(batches.iter().sum::<usize>(), usize::try_from(USERS / 2).unwrap(), "{batches:?}");
    assert!(batches.len() <= 3, "{batches:?}");
    for user in 1..=USERS / 2 {
        assert_eq!(shown_name(&scene.node, user).await, "Renamed");
    }
    assert_eq!(scene.singles(), 0, "they are all there");
    assert_eq!(shown_name(&scene.node, USERS).await, "Renamed");
    assert_eq!(scene.singles(), 1);
}

#[tokio::test]
async fn a_listing_that_a_sync_has_not_changed_stays_the_very_same() {
    let scene = Scene::new().await;
    let before = scene.node.listing(user_id(1)).await.unwrap();
    scene.is_synced_elsewhere().await;
    scene.world.ports.stores.records.put(Record::Guild(a_guild(1))).await.unwrap();
    scene.node.settle().await;
    let after = scene.node.listing(user_id(1)).await.unwrap();
    assert!(Arc::ptr_eq(&before, &after), "whoever has rendered it can go on with it");
}

#[tokio::test]
async fn one_guild_that_changes_leaves_everything_else_alone() {
    let scene = Scene::new().await;
    let stores = &scene.world.ports.stores;
    stores.grants.replace(user_id(500), &grant(&[2])).await.unwrap();
    scene.node.settle().await;
    scene.node.listing(user_id(500)).await.unwrap();
    scene.singles();
    stores.records.put(Record::Guild(Guild { name: name("Renamed"), ..a_guild(1) })).await.unwrap();
    scene.node.settle().await;
    scene.node.listing(user_id(500)).await.unwrap();
    assert_eq!(scene.singles(), 0);
    assert_eq!(shown_name(&scene.node, 1).await, "Renamed");
    assert_eq!(scene.singles(), 1);
}

#[tokio::test]
async fn a_binding_and_a_role_that_change_at_once_are_never_seen_apart() {
    let scene = Scene::new().await;
    let bound = |roles: &[u64]| {
        let bindings = companion_domain::model::RoleBindings::new([(
            "MOD".parse().unwrap(),
            companion_testkit::world::roles(roles),
        )]);
        Guild { bindings, ..a_guild(1) }
    };
    let world = |number: u64| [Record::Guild(bound(&[number])), Record::Member(a_member(1, 1, &[number]))];
    for number in 1..=20 {
        let mut source = Source::of(world(number));
        scene.world.ports.stores.records.sync(&Replace::default(), &mut source).await.unwrap();
        for settled in [false, true] {
            if settled {
                scene.node.settle().await;
            }
            let listing = scene.node.listing(user_id(1)).await.unwrap();
            let seen = listing.guilds.iter().find(|seen| seen.guild.id == guild_id(1)).unwrap();
            let held = seen.guild.bindings.held_by(&seen.roles).count();
            assert_eq!(held, usize::from(number > 1 || settled), "{number} {settled}");
        }
    }
}

#[tokio::test]
async fn blocks_do_not_count_before_they_are_read_again() {
    let scene = Scene::new().await;
    let records = (1..=1500).map(|user| Record::Blocked(user_id(user)));
    let mut source = Source::of(records);
    let replace = Replace { kinds: [Kind::Blocked].into(), shard: None };
    scene.world.ports.stores.records.sync(&replace, &mut source).await.unwrap();
    scene.node.settle().await;
    assert!(scene.listings.batches.lock().unwrap().is_empty());
    for user in [1, USERS] {
        assert!(scene.node.listing(user_id(user)).await.unwrap().blocked);
    }
}

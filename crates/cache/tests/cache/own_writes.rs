//! What is written through a node shows there at once, before anything was heard of it from the store.

use crate::node::{Node, PLENTY, Source, grant};
use async_trait::async_trait;
use companion_domain::{
    change::{Key, Subject},
    model::{Guild, StaffGrant},
    port::{Asked, ClaimAfter, Follower, Listing, News, Record, Replace, StoreError},
    session::Cutoffs,
};
use companion_testkit::{
    use_cases::InMemory,
    world::{a_guild, a_member, a_session, a_subscription, at, guild_id, name, user_id},
};
use futures_util::FutureExt as _;
use std::{
    num::NonZeroU32,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

/// A node that hears nothing of what is written: no time passes, and nobody asks for it.
struct Scene {
    world: InMemory,
    node: Arc<Node>,
    shown: Arc<Listing>,
}

impl Scene {
    async fn new() -> Self {
        let world = InMemory::new();
        world.ports.stores.grants.replace(user_id(1), &grant(&[1])).await.unwrap();
        world.ports.stores.records.put(Record::Guild(a_guild(1))).await.unwrap();
        let node = Node::over(&world.ports, PLENTY);
        node.settle().await;
        let shown = node.listing(user_id(1)).await.unwrap();
        Self { world, node, shown }
    }

    /// The listing is another one than before, and what the store would show.
    async fn shows(&mut self, written: &str) {
        let before = std::mem::replace(&mut self.shown, self.node.listing(user_id(1)).await.unwrap());
        assert_ne!(self.shown, before, "{written} does not show");
        let stored = self.world.ports.stores.listings().read(user_id(1), Asked::List).await.unwrap();
        assert_eq!(self.shown, stored, "{written}");
    }
}

#[tokio::test(start_paused = true)]
async fn guilds_and_the_roles_of_their_members() {
    let mut scene = Scene::new().await;
    let records = scene.node.stores.records.clone();
    records.put(Record::Guild(Guild { name: name("Another"), ..a_guild(1) })).await.unwrap();
    scene.shows("a guild").await;
    records.put(Record::Member(a_member(1, 1, &[5]))).await.unwrap();
    scene.shows("a role").await;
    records.remove(Key::Member(guild_id(1), user_id(1))).await.unwrap();
    scene.shows("a role that was taken").await;
    records.remove(Key::Guild(guild_id(1))).await.unwrap();
    scene.shows("a guild that the bot has left").await;
}

#[tokio::test(start_paused = true)]
async fn subscriptions() {
    let mut scene = Scene::new().await;
    let records = scene.node.stores.records.clone();
    records.put(Record::Subscription(a_subscription(1, &[]))).await.unwrap();
    scene.shows("one's own subscription").await;
    records.put(Record::Subscription(a_subscription(2, &[1]))).await.unwrap();
    scene.shows("a subscription that names a guild").await;
    for user in [1, 2] {
        records.remove(Key::Subscription(user_id(user))).await.unwrap();
        scene.shows("a subscription that has ended").await;
    }
}

#[tokio::test(start_paused = true)]
async fn staff_and_blocks() {
    let mut scene = Scene::new().await;
    let records = scene.node.stores.records.clone();
    records.put(Record::Staff(user_id(1), [StaffGrant::Support].into_iter().collect())).await.unwrap();
    scene.shows("what was granted by name").await;
    records.remove(Key::Staff(user_id(1))).await.unwrap();
    scene.shows("what was taken by name").await;
    records.put(Record::Blocked(user_id(1))).await.unwrap();
    scene.shows("a block").await;
    records.remove(Key::Blocked(user_id(1))).await.unwrap();
    scene.shows("a block that was lifted").await;
}

#[tokio::test(start_paused = true)]
async fn grants() {
    let mut scene = Scene::new().await;
    let grants = scene.node.stores.grants.clone();
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
}

#[tokio::test(start_paused = true)]
async fn syncs_and_users_who_are_forgotten() {
    let mut scene = Scene::new().await;
    let records = scene.node.stores.records.clone();
    let renamed = Guild { name: name("Another"), ..a_guild(1) };
    let mut source = Source::of([Record::Guild(renamed)]);
    records.sync(&Replace::default(), &mut source).await.unwrap();
    scene.shows("a sync").await;
    records.forget(user_id(1)).await.unwrap();
    scene.shows("a user who was forgotten").await;
}

#[tokio::test(start_paused = true)]
async fn how_many_sessions_there_are() {
    let sessions = &Node::over(&InMemory::new().ports, PLENTY).stores.sessions;
    let never = Cutoffs { created: at(0), seen: at(0), ahead: at(9) };
    for number in [1, 2, 3] {
        sessions.create(&a_session(number, 1, at(1)), NonZeroU32::MAX, never).await.unwrap();
    }
    sessions.revoke(&a_session(1, 1, at(1)).id).await.unwrap();
    assert_eq!(sessions.count().await.unwrap(), Some(2));
}

/// A follower that is told nothing while it is busy.
#[derive(Default)]
struct Busy {
    is_busy: AtomicBool,
    told: Mutex<Vec<Subject>>,
}

#[async_trait]
impl Follower for Busy {
    async fn follow(&self, news: &News) -> Result<(), StoreError> {
        if self.is_busy.load(SeqCst) {
            std::future::pending::<()>().await;
        }
        if let News::Changes(changes) = news {
            self.told.lock().unwrap().extend(changes.iter().map(|change| change.subject.clone()));
        }
        Ok(())
    }
}

#[tokio::test]
async fn what_others_were_telling_when_they_gave_up() {
    let node = Node::over(&InMemory::new().ports, PLENTY);
    let follower = Arc::new(Busy::default());
    node.following.add(follower.clone());
    node.settle().await;
    follower.is_busy.store(true, SeqCst);
    let block = |user| node.stores.records.put(Record::Blocked(user_id(user)));
    let (mut first, mut second, mut third) = (block(1), block(2), block(3));
    for waiting in [&mut first, &mut second, &mut third] {
        assert!(waiting.now_or_never().is_none());
    }
    drop(first);
    assert!((&mut second).now_or_never().is_none());
    drop(second);
    follower.is_busy.store(false, SeqCst);
    third.await.unwrap();
    let blocked = [1, 2, 3].map(|user| Subject::Blocked(user_id(user)));
    assert_eq!(*follower.told.lock().unwrap(), blocked);
}

//! What is written through a node shows there at once, before anything was heard of it from the store.

use crate::node::{Node, PLENTY, Source, grant};
use companion_domain::{
    model::{Guild, StaffGrant},
    port::{Asked, ClaimAfter, Listing, Record, Replace},
    session::Cutoffs,
};
use companion_testkit::{
    use_cases::InMemory,
    world::{a_guild, a_member, a_session, a_subscription, at, guild_id, name, user_id},
};
use std::{num::NonZeroU32, sync::Arc};

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
        world.ports.stores.guilds.put(&a_guild(1)).await.unwrap();
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
    let guilds = scene.node.stores.guilds.clone();
    guilds.put(&Guild { name: name("Another"), ..a_guild(1) }).await.unwrap();
    scene.shows("a guild").await;
    guilds.put_member(&a_member(1, 1, &[5])).await.unwrap();
    scene.shows("a role").await;
    guilds.remove_member(guild_id(1), user_id(1)).await.unwrap();
    scene.shows("a role that was taken").await;
    guilds.remove(guild_id(1)).await.unwrap();
    scene.shows("a guild that the bot has left").await;
}

#[tokio::test(start_paused = true)]
async fn subscriptions() {
    let mut scene = Scene::new().await;
    let subscriptions = scene.node.stores.subscriptions.clone();
    subscriptions.put(&a_subscription(1, &[])).await.unwrap();
    scene.shows("one's own subscription").await;
    subscriptions.put(&a_subscription(2, &[1])).await.unwrap();
    scene.shows("a subscription that names a guild").await;
    for user in [1, 2] {
        subscriptions.remove(user_id(user)).await.unwrap();
        scene.shows("a subscription that has ended").await;
    }
}

#[tokio::test(start_paused = true)]
async fn staff_and_blocks() {
    let mut scene = Scene::new().await;
    let (staff, blocked) = (scene.node.stores.staff.clone(), scene.node.stores.blocked.clone());
    staff.put(user_id(1), [StaffGrant::Support].into_iter().collect()).await.unwrap();
    scene.shows("what was granted by name").await;
    staff.remove(user_id(1)).await.unwrap();
    scene.shows("what was taken by name").await;
    blocked.block(user_id(1)).await.unwrap();
    scene.shows("a block").await;
    blocked.unblock(user_id(1)).await.unwrap();
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
async fn the_world() {
    let mut scene = Scene::new().await;
    let world = scene.node.stores.world.clone();
    let renamed = Guild { name: name("Another"), ..a_guild(1) };
    let mut source = Source::of([Record::Guild(renamed)]);
    world.sync(&Replace::default(), &mut source).await.unwrap();
    scene.shows("a sync").await;
    world.forget(user_id(1)).await.unwrap();
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

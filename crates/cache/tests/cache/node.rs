//! A node with a cache, and the conformance suites of what it decorates over two of them that share one store.

use companion_cache::{Cache, CacheSettings};
use companion_domain::{
    model::{GuildList, Membership, UserId},
    port::{GrantContent, Listing, ListingScope, Ports, StoreError, Stores},
    session::SessionToken,
    usecase::{ChangeDispatcher, DispatchedRecords, UseCases},
};
use companion_testkit::{
    conformance::Fresh,
    use_cases::{InMemory, settings},
    world::{a_user, an_ownership, at},
};
use std::{sync::Arc, time::Duration};

/// Memory for everything that a test caches.
pub(crate) const PLENTY: u64 = 64 << 20;

/// One process with its own cache.
pub(crate) struct Node {
    pub(crate) stores: Stores,
    pub(crate) cache: Cache,
    pub(crate) dispatcher: Arc<ChangeDispatcher>,
}

impl Node {
    /// Returns a node over these ports that has not polled the feed yet.
    pub(crate) fn over(ports: &Ports, memory: u64) -> Arc<Self> {
        Self::with(ports, CacheSettings { memory, use_lag: Duration::ZERO })
    }

    pub(crate) fn with(ports: &Ports, settings: CacheSettings) -> Arc<Self> {
        let mut ports = ports.clone();
        let dispatcher = ChangeDispatcher::of(&ports);
        let cache = Cache::around(&mut ports, &dispatcher, settings);
        ports.stores.records = DispatchedRecords::by(dispatcher.clone(), &ports.stores);
        Arc::new(Self { stores: ports.stores, cache, dispatcher })
    }

    /// Writes buffered uses and catches up with the feed.
    pub(crate) async fn settle(&self) {
        self.cache.write_uses().await.unwrap();
        self.dispatcher.catch_up().await.unwrap();
    }

    pub(crate) async fn listing(&self, user: UserId) -> Result<Arc<Listing>, StoreError> {
        self.stores.listings().read(user, ListingScope::List).await
    }
}

/// The use cases of a service with a cache.
pub(crate) struct Service {
    pub(crate) world: InMemory,
    pub(crate) cache: Cache,
    pub(crate) use_cases: UseCases,
}

impl Service {
    pub(crate) async fn new() -> Self {
        let world = InMemory::new();
        let mut ports = world.ports.clone();
        let dispatcher = ChangeDispatcher::of(&ports);
        let limits = CacheSettings { memory: PLENTY, use_lag: Duration::ZERO };
        let cache = Cache::around(&mut ports, &dispatcher, limits);
        let use_cases = UseCases::with_dispatcher(dispatcher, &ports, settings());
        use_cases.dispatcher.catch_up().await.unwrap();
        Self { world, cache, use_cases }
    }

    /// Signs the first user in, who is in these guilds.
    pub(crate) async fn sign_in(&self, guilds: Vec<Membership>) -> SessionToken {
        let request = self.world.arrival(a_user(1), guilds);
        let token = self.use_cases.sign_in.sign_in(&request).await.unwrap().token;
        self.use_cases.dispatcher.catch_up().await.unwrap();
        token
    }
}

/// Returns a grant with a list of these guilds, all owned by the user.
pub(crate) fn grant(guilds: &[u64]) -> GrantContent {
    let memberships: Vec<Membership> = guilds.iter().copied().map(an_ownership).collect();
    GrantContent {
        tokens: None,
        list: Some(GuildList { memberships: memberships.into(), without_bot: Vec::new(), fetched_at: at(1) }),
        profile: None,
    }
}

async fn two_nodes(memory: u64) -> Fresh<Stores> {
    let world = InMemory::new();
    let nodes = [Node::over(&world.ports, memory), Node::over(&world.ports, memory)];
    for node in &nodes {
        node.settle().await;
    }
    let [one, other] = nodes.clone().map(|node| Arc::new(node.stores.clone()));
    let settle = move || {
        let nodes = nodes.clone();
        async move {
            // What one node has buffered must be written before the other can read it.
            for node in nodes.iter().chain(&nodes) {
                node.settle().await;
            }
        }
    };
    Fresh::new(one).with_other(other).settling(settle).keeping(world)
}

/// The other suites would test the store behind the cache.
macro_rules! decorated_conformance {
    ($memory:expr) => {
        companion_testkit::change_feed_conformance!(super::two_nodes($memory).await);
        companion_testkit::grant_store_conformance!(super::two_nodes($memory).await);
        companion_testkit::listings_conformance!(super::two_nodes($memory).await);
        companion_testkit::records_conformance!(super::two_nodes($memory).await);
        companion_testkit::session_store_conformance!(super::two_nodes($memory).await);
        companion_testkit::sign_ins_conformance!(super::two_nodes($memory).await);
    };
}

mod with_room {
    decorated_conformance!(super::PLENTY);
}

/// So little memory that entries are evicted all the time.
mod with_hardly_any_room {
    decorated_conformance!(16 << 10);
}

//! Tokens whose session has ended cost the store next to nothing, and open again as soon as their session is back.

use crate::node::{Node, PLENTY, Source};
use companion_cache::{Cache, CacheSettings};
use companion_domain::{
    port::{Record, Replace},
    session::{Session, SessionToken},
    usecase::{AuthenticateError, Following, UseCases},
};
use companion_testkit::{
    use_cases::{InMemory, settings},
    world::{a_session, a_user, at, user_id},
};
use std::{num::NonZeroU32, sync::Arc, time::Duration};

const REQUESTS: u64 = 1000;

struct Scene {
    world: InMemory,
    cache: Cache,
    use_cases: UseCases,
}

impl Scene {
    async fn new() -> Self {
        let world = InMemory::new();
        let mut ports = world.ports.clone();
        let following = Following::of(&ports);
        let settings_of_cache = CacheSettings { memory: PLENTY, use_lag: Duration::ZERO };
        let cache = Cache::around(&mut ports, &following, settings_of_cache);
        let use_cases = UseCases::led_by(following, &ports, settings());
        use_cases.following.catch_up().await.unwrap();
        Self { world, cache, use_cases }
    }

    async fn sign_in(&self) -> SessionToken {
        let request = self.world.arrival(a_user(1), Vec::new());
        self.use_cases.sign_in.sign_in(&request).await.unwrap().token
    }

    /// How many reads of the store many requests with this token cost, all of which are refused.
    async fn reads_of(&self, token: &SessionToken) -> u64 {
        self.use_cases.following.catch_up().await.unwrap();
        let reads = || self.cache.statistics()[0].misses;
        let before = reads();
        for _ in 0..REQUESTS {
            let refused = self.use_cases.authenticate.authenticate(token.expose()).await;
            let refused = refused.unwrap_err();
            assert!(
                matches!(refused, AuthenticateError::TokenRefused | AuthenticateError::Over(_)),
                "{refused}"
            );
        }
        reads() - before
    }
}

#[tokio::test]
async fn a_token_that_goes_on_being_sent_after_its_end_costs_a_read_or_two() {
    let scene = Scene::new().await;
    let (revoked, expired) = (scene.sign_in().await, scene.sign_in().await);
    let unknown = settings().tokens.issue(&[9; 32]);
    scene.use_cases.sessions.revoke(&revoked.hash()).await.unwrap();
    let of_revoked = scene.reads_of(&revoked).await;
    scene.world.clock.advance(settings().limits.idle.get());
    // The first request finds the session, and ends it.
    let of_expired = scene.reads_of(&expired).await;
    let of_unknown = scene.reads_of(&unknown).await;
    println!(
        "reads for {REQUESTS} requests with one token: {of_revoked} of a revoked session, {of_expired} of an expired one, \
         {of_unknown} of one that never was"
    );
    assert_eq!((of_revoked, of_expired, of_unknown), (1, 2, 1));
}

/// A node that knows of a session that there is none.
async fn a_node_without(world: &InMemory, session: &Session) -> Arc<Node> {
    let node = Node::over(&world.ports, PLENTY);
    node.settle().await;
    for _ in 0..2 {
        assert_eq!(node.stores.sessions.find(&session.id).await.unwrap(), None);
    }
    assert_eq!(node.cache.statistics()[0].misses, 1);
    node
}

#[tokio::test]
async fn a_session_that_an_import_brings_back_counts_here_at_once_and_elsewhere_within_a_second() {
    let (world, session) = (InMemory::new(), a_session(1, 1, at(1)));
    let (here, elsewhere) = (a_node_without(&world, &session).await, a_node_without(&world, &session).await);
    let mut import = Source::of([Record::Session(session.clone())]);
    here.stores.records.sync(&Replace::default(), &mut import).await.unwrap();
    assert_eq!(here.stores.sessions.find(&session.id).await.unwrap().as_ref(), Some(&session));
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(elsewhere.stores.sessions.find(&session.id).await.unwrap(), Some(session));
}

#[tokio::test]
async fn a_session_that_is_made_anew_counts_at_once() {
    let (world, session) = (InMemory::new(), a_session(1, 1, at(1)));
    let node = a_node_without(&world, &session).await;
    let limits = settings().limits.cutoffs(at(1));
    for _ in 0..2 {
        node.stores.sessions.create(&session, NonZeroU32::MAX, limits).await.unwrap();
        assert!(node.stores.sessions.find(&session.id).await.unwrap().is_some());
        assert_eq!(node.stores.sessions.revoke_user(user_id(1)).await.unwrap().len(), 1);
        assert_eq!(node.stores.sessions.find(&session.id).await.unwrap(), None);
    }
}

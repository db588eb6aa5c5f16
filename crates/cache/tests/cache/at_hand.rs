//! What a request gets without waiting, and what it never gets that way.

use crate::node::{Node, PLENTY, grant};
use companion_cache::{Cache, CacheSettings};
use companion_domain::{
    model::UserId,
    port::Record,
    session::TokenHash,
    usecase::{Following, UseCases},
};
use companion_testkit::{
    use_cases::{InMemory, settings},
    world::{a_guild, a_user, an_ownership, user_id},
};
use futures_util::FutureExt as _;
use std::time::Duration;

/// A service with copies, and someone who has signed in and asked for their list once.
struct Scene {
    world: InMemory,
    use_cases: UseCases,
    token: String,
    user: UserId,
}

impl Scene {
    async fn new() -> Self {
        let world = InMemory::new();
        let mut ports = world.ports.clone();
        let following = Following::of(&ports);
        Cache::around(&mut ports, &following, CacheSettings { memory: PLENTY, use_lag: Duration::ZERO });
        let use_cases = UseCases::led_by(following, &ports, settings());
        use_cases.following.catch_up().await.unwrap();
        use_cases.feed.records.put(Record::Guild(a_guild(1))).await.unwrap();
        let user = a_user(1);
        let request = world.arrival(user.clone(), vec![an_ownership(1)]);
        let signed_in = use_cases.sign_in.sign_in(&request).await.unwrap();
        use_cases.following.catch_up().await.unwrap();
        let scene = Self { world, use_cases, token: signed_in.token.expose().to_owned(), user: user.id };
        scene.ask().await;
        scene
    }

    /// As a request that waits for what it needs.
    async fn ask(&self) {
        let session = self.use_cases.authenticate.authenticate(&self.token).await.unwrap();
        self.use_cases.list_guilds.list(session.user).await.unwrap();
    }

    fn recognises(&self) -> bool {
        self.use_cases.authenticate.at_hand(&self.token).is_some()
    }

    fn lists(&self) -> bool {
        self.use_cases.list_guilds.at_hand(self.user).is_some()
    }
}

#[tokio::test]
async fn who_has_asked_before_is_answered_without_waiting() {
    let scene = Scene::new().await;
    let session = scene.use_cases.authenticate.at_hand(&scene.token).unwrap();
    assert_eq!(session, scene.use_cases.authenticate.authenticate(&scene.token).await.unwrap());
    let listing = scene.use_cases.list_guilds.at_hand(session.user).unwrap();
    assert_eq!(listing, scene.use_cases.list_guilds.list(session.user).await.unwrap());
    assert_eq!(listing.guilds().len(), 1);
}

#[tokio::test]
async fn who_finds_nothing_at_hand_and_waits_for_it_is_one_miss() {
    let world = InMemory::new();
    let node = Node::over(&world.ports, PLENTY);
    let user = user_id(1);
    world.ports.stores.grants.replace(user, &grant(&[1])).await.unwrap();
    node.following.catch_up().await.unwrap();
    let id = TokenHash::from_bytes([1; 32]);
    for _ in 0..3 {
        assert!(
            node.stores.listings().at_hand(user).is_none() && node.stores.sessions.at_hand(&id).is_none()
        );
    }
    node.listing(user).await.unwrap();
    assert_eq!(node.stores.sessions.find(&id).await.unwrap(), None);
    for copies in &node.cache.statistics()[..2] {
        assert_eq!(copies.misses, 1, "{}", copies.name);
    }
    assert!(node.stores.listings().at_hand(user).is_some());
}

#[tokio::test]
async fn a_token_that_differs_in_one_letter_finds_nothing_at_hand() {
    let scene = Scene::new().await;
    for index in 0..scene.token.len() {
        let mut altered = scene.token.clone().into_bytes();
        altered[index] ^= 1;
        let altered = String::from_utf8(altered).unwrap();
        assert!(scene.use_cases.authenticate.at_hand(&altered).is_none(), "{altered}");
    }
}

#[tokio::test]
async fn what_is_at_hand_counts_for_a_second() {
    let scene = Scene::new().await;
    scene.world.clock.advance(Duration::from_micros(999_999));
    assert!(scene.recognises() && scene.lists());
    scene.world.clock.advance(Duration::from_micros(1));
    assert!(!scene.recognises() && !scene.lists());
}

#[tokio::test]
async fn a_session_that_ended_and_a_user_who_is_blocked_are_not_at_hand() {
    let scene = Scene::new().await;
    scene.use_cases.feed.records.put(Record::Blocked(scene.user)).await.unwrap();
    assert!(!scene.lists());
    assert!(scene.use_cases.list_guilds.list(scene.user).await.is_err());
    assert!(!scene.lists(), "that a user is blocked is for the request that waits to say");
    scene.use_cases.sessions.revoke_user(scene.user).await.unwrap();
    assert!(!scene.recognises());
}

#[tokio::test]
async fn a_use_that_is_to_be_recorded_and_a_list_that_is_to_be_renewed_are_not_at_hand() {
    let scene = Scene::new().await;
    let show = async || scene.use_cases.following.catch_up().await.unwrap();
    let settings = settings();
    scene.world.clock.advance(settings.freshness.refresh_after.get());
    show().await;
    assert_eq!((scene.recognises(), scene.lists()), (true, false));
    scene.ask().await;
    assert!(scene.lists());
    scene.world.clock.advance(settings.limits.grain());
    show().await;
    assert!(!scene.recognises());
    scene.ask().await;
    assert!(scene.recognises());
}

#[tokio::test]
async fn who_looks_once_and_does_not_wait_costs_the_store_nothing() {
    let world = InMemory::new();
    let node = Node::over(&world.ports, PLENTY);
    node.following.catch_up().await.unwrap();
    let (user, id) = (user_id(1), TokenHash::from_bytes([1; 32]));
    assert!(node.listing(user).now_or_never().is_none());
    assert!(node.stores.sessions.find(&id).now_or_never().is_none());
    world.scheduler.settled().await;
    for copies in &node.cache.statistics()[..2] {
        assert_eq!(copies.misses, 0, "{}", copies.name);
    }
}

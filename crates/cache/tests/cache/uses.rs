//! That sessions were used is gathered, and nobody is signed out for what is not written yet.

use crate::node::{Node, PLENTY};
use async_trait::async_trait;
use companion_cache::CacheSettings;
use companion_domain::{
    model::Timestamp,
    port::{SessionStore, StoreError},
    session::{Cutoffs, Session, TokenHash, Uses},
};
use companion_testkit::{
    over::{Over, SessionStoreOver},
    use_cases::InMemory,
    world::{a_session, at},
};
use std::{
    mem,
    num::NonZeroU32,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    time::Duration,
};

const LAG: Duration = Duration::from_secs(60);
const MANY: NonZeroU32 = NonZeroU32::MAX;

/// A store of sessions that tells how it was asked, and takes only so many touches.
struct Counting {
    inner: Arc<dyn SessionStore>,
    touched: Mutex<Vec<usize>>,
    touches_left: AtomicU32,
    found: AtomicU32,
}

#[async_trait]
impl SessionStoreOver for Counting {
    fn sessions(&self) -> &dyn SessionStore {
        &*self.inner
    }

    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        self.found.fetch_add(1, SeqCst);
        self.inner.find(id).await
    }

    async fn touch(&self, seen: Uses<'_>) -> Result<(), StoreError> {
        let left = self.touches_left.load(SeqCst);
        self.touches_left.store(left.checked_sub(1).ok_or_else(|| StoreError::unavailable("full"))?, SeqCst);
        self.touched.lock().unwrap().push(seen.as_slice().len());
        self.inner.touch(seen).await
    }
}

struct Scene {
    store: Arc<Over<Counting>>,
    node: Arc<Node>,
    other: Arc<Node>,
}

impl Scene {
    /// Two nodes over one store of sessions.
    async fn new() -> Self {
        let world = InMemory::new();
        let mut ports = world.ports.clone();
        let store = Arc::new(Over(Counting {
            inner: ports.stores.sessions.clone(),
            touched: Mutex::default(),
            touches_left: AtomicU32::new(u32::MAX),
            found: AtomicU32::new(0),
        }));
        ports.stores.sessions = store.clone();
        let node = || Node::with(&ports, CacheSettings { memory: PLENTY, use_lag: LAG });
        let (node, other) = (node(), node());
        node.settle().await;
        other.settle().await;
        Self { store, node, other }
    }

    async fn make(&self, number: u8) -> Session {
        let session = a_session(number, number.into(), at(1000));
        self.node.stores.sessions.create(&session, MANY, ended(0)).await.unwrap();
        session
    }

    fn touched(&self) -> Vec<usize> {
        mem::take(&mut self.store.touched.lock().unwrap())
    }
}

/// What was last used by then is over.
fn ended(seen: i64) -> Cutoffs {
    Cutoffs { created: at(0), seen: at(seen), ahead: at(i64::from(u32::MAX)) }
}

async fn touch(node: &Node, session: &Session, seen: i64) {
    node.stores.sessions.touch(Uses::one(&(session.id, at(seen)))).await.unwrap();
}

async fn last_seen(node: &Node, session: &Session) -> Timestamp {
    node.stores.sessions.find(&session.id).await.unwrap().unwrap().last_seen_at
}

#[tokio::test]
async fn a_use_is_seen_here_at_once_and_written_later() {
    let scene = Scene::new().await;
    let session = scene.make(1).await;
    for with_copy in [false, true] {
        let seen = if with_copy { 2000 } else { 1500 };
        touch(&scene.node, &session, seen).await;
        assert_eq!(last_seen(&scene.node, &session).await, at(seen));
        assert_eq!(scene.node.stores.sessions.of_user(session.user).await.unwrap()[0].last_seen_at, at(seen));
    }
    assert!(scene.touched().is_empty());
    scene.node.cache.write_uses().await.unwrap();
    assert_eq!(scene.touched(), [1], "two uses of one session are one");
    assert_eq!(last_seen(&scene.other, &session).await, at(2000));
    scene.node.cache.write_uses().await.unwrap();
    assert!(scene.touched().is_empty());
}

#[tokio::test]
async fn the_use_of_many_sessions_is_written_in_batches_and_goes_on_where_it_failed() {
    let scene = Scene::new().await;
    for number in 0..1201_u32 {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        let session = Session { id: TokenHash::from_bytes(bytes), ..a_session(1, 1, at(1000)) };
        scene.node.stores.sessions.create(&session, MANY, ended(0)).await.unwrap();
        touch(&scene.node, &session, 2000).await;
    }
    scene.store.touches_left.store(2, SeqCst);
    assert!(scene.node.cache.write_uses().await.is_err());
    assert_eq!(scene.touched(), [500, 500]);
    scene.store.touches_left.store(u32::MAX, SeqCst);
    scene.node.cache.write_uses().await.unwrap();
    assert_eq!(scene.touched(), [201], "what was written is not written again");
}

#[tokio::test]
async fn the_use_of_a_session_that_was_revoked_is_not_written() {
    let scene = Scene::new().await;
    let (alone, with_its_user) = (scene.make(1).await, scene.make(2).await);
    for session in [&alone, &with_its_user] {
        touch(&scene.node, session, 2000).await;
    }
    let sessions = &scene.node.stores.sessions;
    assert_eq!(sessions.revoke(&alone.id).await.unwrap().unwrap().last_seen_at, at(2000));
    assert_eq!(sessions.revoke_user(with_its_user.user).await.unwrap()[0].last_seen_at, at(2000));
    scene.node.cache.write_uses().await.unwrap();
    assert!(scene.touched().is_empty());
}

#[tokio::test]
async fn a_session_counts_as_over_only_when_no_unwritten_use_could_keep_it() {
    let scene = Scene::new().await;
    let session = scene.make(1).await;
    let lag = i64::try_from(LAG.as_secs()).unwrap();
    // It may have been used on another node until a minute after this.
    let (not_yet, over) = (ended(1000 + lag - 1), ended(1000 + lag));
    let sessions = &scene.node.stores.sessions;
    assert_eq!(sessions.expire(&session.id, not_yet).await.unwrap(), None);
    assert_eq!(sessions.prune(not_yet, MANY).await.unwrap(), []);
    let younger = Session { created_at: at(2000), ..a_session(2, 1, at(2000)) };
    assert_eq!(sessions.create(&younger, MANY, not_yet).await.unwrap(), []);
    assert_eq!(sessions.prune(over, MANY).await.unwrap(), [session]);
}

#[tokio::test]
async fn before_a_session_is_refused_as_idle_what_is_gathered_here_is_written() {
    let scene = Scene::new().await;
    let (refused, pruned) = (scene.make(1).await, scene.make(2).await);
    for session in [&refused, &pruned] {
        touch(&scene.node, session, 5000).await;
    }
    assert_eq!(scene.node.stores.sessions.expire(&refused.id, ended(4000)).await.unwrap(), None);
    assert_eq!(scene.node.stores.sessions.prune(ended(4000), MANY).await.unwrap(), []);
    assert_eq!(scene.touched(), [1, 1]);
}

#[tokio::test]
async fn a_session_that_another_node_has_seen_used_is_read_again_before_it_is_refused() {
    let scene = Scene::new().await;
    let session = scene.make(1).await;
    assert_eq!(last_seen(&scene.other, &session).await, at(1000));
    touch(&scene.node, &session, 5000).await;
    scene.node.cache.write_uses().await.unwrap();
    assert_eq!(last_seen(&scene.other, &session).await, at(1000), "the copy");
    assert_eq!(scene.other.stores.sessions.expire(&session.id, ended(4000)).await.unwrap(), None);
    assert_eq!(last_seen(&scene.other, &session).await, at(5000));
}

#[tokio::test]
async fn a_session_and_its_absence_are_looked_up_once() {
    let scene = Scene::new().await;
    let session = scene.make(1).await;
    for _ in 0..5 {
        last_seen(&scene.node, &session).await;
    }
    assert_eq!(scene.store.found.swap(0, SeqCst), 1);
    for _ in 0..5 {
        assert_eq!(scene.node.stores.sessions.find(&TokenHash::from_bytes([9; 32])).await.unwrap(), None);
    }
    assert_eq!(scene.store.found.load(SeqCst), 1);
}

#[tokio::test]
async fn all_who_knock_at_once_with_one_session_share_one_look_up() {
    let scene = Scene::new().await;
    let session = scene.make(1).await;
    let knocking = (0..100).map(|_| last_seen(&scene.node, &session));
    futures_util::future::join_all(knocking).await;
    assert_eq!(scene.store.found.load(SeqCst), 1);
}

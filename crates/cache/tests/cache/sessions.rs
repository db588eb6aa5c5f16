//! Sessions: uses are buffered, dead tokens cost next to nothing, and sign-ins take effect at once on their node.

use crate::node::{Node, PLENTY, Service, grant};
use async_trait::async_trait;
use companion_cache::CacheSettings;
use companion_domain::{
    model::{Timestamp, UserId},
    port::{GrantVersion, Record, SessionStore, SignIns, StoreError},
    session::{Cutoffs, Session, SessionToken, TokenHash, Uses},
    usecase::AuthenticateError,
};
use companion_testkit::{
    conformance::prepared::remove_grants,
    over::{Over, SessionStoreOver, SignInsOver},
    use_cases::{InMemory, settings},
    world::{a_guild, a_session, at, user_id},
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
const NO_LIMIT: NonZeroU32 = NonZeroU32::MAX;

/// Counts operations, and accepts a limited number of touches.
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

struct Used {
    store: Arc<Over<Counting>>,
    node: Arc<Node>,
    other: Arc<Node>,
}

impl Used {
    /// Two nodes over one session store.
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
        assert_eq!(self.begin(&session, NO_LIMIT, ended(0)).await, []);
        session
    }

    async fn begin(&self, session: &Session, cap: NonZeroU32, ended: Cutoffs) -> Vec<Session> {
        self.node.stores.sign_ins.begin(session, cap, ended, &grant(&[])).await.unwrap()
    }

    fn touched(&self) -> Vec<usize> {
        mem::take(&mut self.store.touched.lock().unwrap())
    }
}

/// Cutoffs that end what was last used by `seen`.
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
async fn shows_a_use_at_once_and_writes_it_later() {
    let scene = Used::new().await;
    let session = scene.make(1).await;
    for is_cached in [false, true] {
        let seen = if is_cached { 2000 } else { 1500 };
        touch(&scene.node, &session, seen).await;
        assert_eq!(last_seen(&scene.node, &session).await, at(seen));
        assert_eq!(scene.node.stores.sessions.of_user(session.user).await.unwrap()[0].last_seen_at, at(seen));
    }
    assert!(scene.touched().is_empty());
    scene.node.cache.write_uses().await.unwrap();
    assert_eq!(scene.touched(), [1], "uses of a session are coalesced");
    assert_eq!(last_seen(&scene.other, &session).await, at(2000));
    scene.node.cache.write_uses().await.unwrap();
    assert!(scene.touched().is_empty());
}

#[tokio::test]
async fn writes_uses_in_batches_and_resumes_after_a_failure() {
    let scene = Used::new().await;
    for number in 0..1201_u32 {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        let session = Session { id: TokenHash::from_bytes(bytes), ..a_session(1, 1, at(1000)) };
        scene.begin(&session, NO_LIMIT, ended(0)).await;
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
async fn drops_the_use_of_a_revoked_session() {
    let scene = Used::new().await;
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
async fn expires_a_session_only_after_the_use_lag() {
    let scene = Used::new().await;
    let session = scene.make(1).await;
    let lag = i64::try_from(LAG.as_secs()).unwrap();
    // It may have been used on another node up to a minute later.
    let (not_yet, over) = (ended(1000 + lag - 1), ended(1000 + lag));
    let sessions = &scene.node.stores.sessions;
    assert_eq!(sessions.expire(&session.id, not_yet).await.unwrap(), None);
    assert_eq!(sessions.prune(not_yet, NO_LIMIT).await.unwrap(), []);
    let older = Session { created_at: at(900), ..a_session(2, 1, at(5000)) };
    scene.begin(&older, NO_LIMIT, not_yet).await;
    let evicted = scene.begin(&a_session(3, 1, at(5000)), NonZeroU32::new(2).unwrap(), not_yet).await;
    assert_eq!(evicted, [older]);
    assert_eq!(sessions.prune(over, NO_LIMIT).await.unwrap(), [session]);
}

#[tokio::test]
async fn writes_pending_uses_before_expiring() {
    let scene = Used::new().await;
    let (refused, pruned) = (scene.make(1).await, scene.make(2).await);
    for session in [&refused, &pruned] {
        touch(&scene.node, session, 5000).await;
    }
    assert_eq!(scene.node.stores.sessions.expire(&refused.id, ended(4000)).await.unwrap(), None);
    assert_eq!(scene.node.stores.sessions.prune(ended(4000), NO_LIMIT).await.unwrap(), []);
    assert_eq!(scene.touched(), [1, 1]);
}

#[tokio::test]
async fn rereads_a_session_before_expiring_it() {
    let scene = Used::new().await;
    let session = scene.make(1).await;
    assert_eq!(last_seen(&scene.other, &session).await, at(1000));
    touch(&scene.node, &session, 5000).await;
    scene.node.cache.write_uses().await.unwrap();
    assert_eq!(last_seen(&scene.other, &session).await, at(1000), "still cached");
    assert_eq!(scene.other.stores.sessions.expire(&session.id, ended(4000)).await.unwrap(), None);
    assert_eq!(last_seen(&scene.other, &session).await, at(5000));
}

#[tokio::test]
async fn loads_a_session_and_its_absence_once() {
    let scene = Used::new().await;
    let session = scene.make(1).await;
    // Concurrent lookups share one load.
    futures_util::future::join_all((0..100).map(|_| last_seen(&scene.node, &session))).await;
    last_seen(&scene.node, &session).await;
    assert_eq!(scene.store.found.swap(0, SeqCst), 1);
    for _ in 0..5 {
        assert_eq!(scene.node.stores.sessions.find(&TokenHash::from_bytes([9; 32])).await.unwrap(), None);
    }
    assert_eq!(scene.store.found.load(SeqCst), 1);
}

const REQUESTS: u64 = 1000;

/// Returns the number of store reads of many requests with this token, all of which are rejected.
async fn reads_of(service: &Service, token: &SessionToken) -> u64 {
    service.use_cases.dispatcher.catch_up().await.unwrap();
    let reads = || service.cache.statistics()[0].misses;
    let before = reads();
    for _ in 0..REQUESTS {
        let refused = service.use_cases.authenticate.authenticate(token.expose()).await.unwrap_err();
        let is_dead = matches!(refused, AuthenticateError::TokenRefused | AuthenticateError::Expired(_));
        assert!(is_dead, "{refused}");
    }
    reads() - before
}

#[tokio::test]
async fn a_dead_token_costs_at_most_two_reads() {
    let scene = Service::new().await;
    let (revoked, expired) = (scene.sign_in(Vec::new()).await, scene.sign_in(Vec::new()).await);
    let unknown = settings().tokens.issue(&[9; 32]);
    scene.use_cases.sessions.revoke(&revoked.hash()).await.unwrap();
    let of_revoked = reads_of(&scene, &revoked).await;
    scene.world.clock.advance(settings().limits.idle.get());
    // The first request finds the session, and ends it.
    let of_expired = reads_of(&scene, &expired).await;
    let of_unknown = reads_of(&scene, &unknown).await;
    println!(
        "reads for {REQUESTS} requests with one token: {of_revoked} of a revoked session, {of_expired} of an expired one, \
         {of_unknown} of one that never was"
    );
    assert_eq!((of_revoked, of_expired, of_unknown), (1, 2, 1));
}

/// Ends sign-ins, but reports a failure.
struct EndsWithFailure(Arc<dyn SignIns>);

#[async_trait]
impl SignInsOver for EndsWithFailure {
    fn sign_ins(&self) -> &dyn SignIns {
        &*self.0
    }

    async fn end(&self, user: UserId, version: GrantVersion) -> Result<Option<Vec<Session>>, StoreError> {
        self.0.end(user, version).await?;
        Err(StoreError::unavailable("cut off"))
    }

    async fn end_without_grant(&self, user: UserId) -> Result<Option<Vec<Session>>, StoreError> {
        self.0.end_without_grant(user).await?;
        Err(StoreError::unavailable("cut off"))
    }
}

/// A node with one signed-in user that does not poll the feed.
struct SignedIn {
    node: Arc<Node>,
    session: Session,
}

impl SignedIn {
    async fn new(succeeds: bool) -> Self {
        let mut ports = InMemory::new().ports;
        if !succeeds {
            ports.stores.sign_ins = Arc::new(Over(EndsWithFailure(ports.stores.sign_ins)));
        }
        ports.stores.records.put(Record::Guild(a_guild(1))).await.unwrap();
        let node = Node::over(&ports, PLENTY);
        node.settle().await;
        let scene = Self { node, session: a_session(1, 1, at(1)) };
        assert_eq!(scene.shown().await, (false, 0));
        let sign_ins = &scene.node.stores.sign_ins;
        sign_ins.begin(&scene.session, NonZeroU32::MIN, ended(0), &grant(&[1])).await.unwrap();
        assert_eq!(scene.shown().await, (true, 1));
        scene
    }

    /// Returns whether the session exists, and the number of listed guilds.
    async fn shown(&self) -> (bool, usize) {
        let session = self.node.stores.sessions.find(&self.session.id).await.unwrap();
        (session.is_some(), self.node.listing(user_id(1)).await.unwrap().guilds.len())
    }
}

#[tokio::test(start_paused = true)]
async fn ends_a_sign_in_even_if_the_store_reports_a_failure() {
    for (succeeds, with_grant) in [(true, true), (true, false), (false, true), (false, false)] {
        let scene = SignedIn::new(succeeds).await;
        let (grants, sign_ins) = (&scene.node.stores.grants, &scene.node.stores.sign_ins);
        let version = grants.find(user_id(1)).await.unwrap().unwrap().version;
        let ended = if with_grant {
            sign_ins.end(user_id(1), version).await
        } else {
            remove_grants(&scene.node.stores).await;
            assert_eq!(scene.shown().await, (true, 0));
            sign_ins.end_without_grant(user_id(1)).await
        };
        assert_eq!(ended.is_ok(), succeeds);
        assert_eq!(scene.shown().await, (false, 0), "succeeds: {succeeds}, with a grant: {with_grant}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_sign_in_ends_the_session_it_replaces_at_once() {
    let scene = SignedIn::new(true).await;
    let next = a_session(2, 1, at(2));
    let ended =
        scene.node.stores.sign_ins.begin(&next, NonZeroU32::MIN, ended(0), &grant(&[])).await.unwrap();
    assert_eq!(ended, std::slice::from_ref(&scene.session));
    assert_eq!(scene.shown().await, (false, 0));
}

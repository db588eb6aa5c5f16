//! A token opens its session, as long as that lives.

use crate::{DAY, INSTANT, MINUTE, Stage, USER};
use async_trait::async_trait;
use companion_domain::{
    model::{SecretKey, Timestamp, UserId},
    port::{SessionStore, StoreError, StoreErrorKind},
    session::{Cutoffs, Session, TokenHash, TokenRing},
    usecase::{Authenticate, AuthenticateError, SignedIn},
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::use_cases::Settings;
use std::{
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

async fn opens(authenticate: &Authenticate, signed_in: &SignedIn) -> bool {
    match authenticate.authenticate(signed_in.token.expose()).await {
        Ok(session) => session.id == signed_in.session.id,
        Err(AuthenticateError::TokenRefused) => false,
        Err(AuthenticateError::Store(error)) => panic!("{error}"),
    }
}

/// A store whose connection can be cut: whoever asks then gets an error.
struct Line {
    store: Arc<MemoryStorage>,
    cut: AtomicBool,
}

impl Line {
    fn to(store: &Arc<MemoryStorage>) -> Arc<Self> {
        Arc::new(Self { store: Arc::clone(store), cut: AtomicBool::new(false) })
    }

    fn store(&self) -> Result<&dyn SessionStore, StoreError> {
        if self.cut.load(Ordering::SeqCst) { Err(StoreError::unavailable("cut")) } else { Ok(&*self.store) }
    }
}

#[async_trait]
impl SessionStore for Line {
    async fn create(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
    ) -> Result<Vec<Session>, StoreError> {
        self.store()?.create(session, cap, ended).await
    }

    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        self.store()?.find(id).await
    }

    async fn touch(&self, seen: &[(TokenHash, Timestamp)]) -> Result<(), StoreError> {
        self.store()?.touch(seen).await
    }

    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        self.store()?.of_user(user).await
    }

    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        self.store()?.revoke(id).await
    }

    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        self.store()?.revoke_user(user).await
    }

    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        self.store()?.prune(ended, limit).await
    }
}

impl Stage {
    /// A node whose connection to the sessions can be cut.
    fn node_over_a_line(&self) -> (Arc<Authenticate>, Arc<Line>) {
        let line = Line::to(&self.memory.storage);
        let mut ports = self.memory.ports.clone();
        ports.sessions = line.clone();
        (ports.use_cases(Settings::default()).authenticate, line)
    }
}

#[tokio::test]
async fn a_token_opens_its_session() {
    let stage = Stage::new();
    let signed_in = stage.signs_in(USER, vec![]).await;
    let session = stage.use_cases.authenticate.authenticate(signed_in.token.expose()).await.unwrap();
    assert_eq!(session, signed_in.session);
}

#[tokio::test]
async fn a_token_that_was_never_given_out_is_refused_without_a_look_up() {
    let stage = Stage::new();
    let good = stage.signs_in(USER, vec![]).await.token;
    let (authenticate, line) = stage.node_over_a_line();
    line.cut.store(true, Ordering::SeqCst);
    let foreign = TokenRing::new(&SecretKey::new([9; 32]), &[]).issue(&*stage.memory.entropy);
    for token in ["", "cmp_", "nonsense", &good.expose()[1..], foreign.expose()] {
        let refused = authenticate.authenticate(token).await;
        assert!(matches!(refused, Err(AuthenticateError::TokenRefused)), "{token}");
    }
    let failed = authenticate.authenticate(good.expose()).await;
    assert!(
        matches!(failed, Err(AuthenticateError::Store(error)) if error.kind == StoreErrorKind::Unavailable)
    );
}

#[tokio::test]
async fn a_session_lives_to_the_last_instant_of_its_lifetime_however_much_it_is_used() {
    let stage = Stage::new();
    let signed_in = stage.signs_in(USER, vec![]).await;
    for _ in 0..5 {
        stage.memory.clock.advance(5 * DAY);
        assert!(opens(&stage.use_cases.authenticate, &signed_in).await);
    }
    stage.memory.clock.advance(5 * DAY - INSTANT);
    assert!(opens(&stage.use_cases.authenticate, &signed_in).await);
    stage.memory.clock.advance(INSTANT);
    assert!(!opens(&stage.use_cases.authenticate, &signed_in).await);
}

#[tokio::test]
async fn a_session_ends_when_it_was_not_used_for_the_idle_limit() {
    let stage = Stage::new();
    let (used, unused) = (stage.signs_in(USER, vec![]).await, stage.signs_in(USER, vec![]).await);
    stage.memory.clock.advance(7 * DAY - INSTANT);
    assert!(opens(&stage.use_cases.authenticate, &used).await);
    stage.memory.clock.advance(INSTANT);
    assert!(opens(&stage.use_cases.authenticate, &used).await);
    assert!(!opens(&stage.use_cases.authenticate, &unused).await);
}

#[tokio::test]
async fn a_refused_attempt_is_no_use() {
    let stage = Stage::new();
    let signed_in = stage.signs_in(USER, vec![]).await;
    stage.memory.clock.advance(7 * DAY);
    for _ in 0..2 {
        assert!(!opens(&stage.use_cases.authenticate, &signed_in).await);
    }
}

#[tokio::test]
async fn use_counts_on_other_nodes_once_it_is_written_back() {
    let stage = Stage::new();
    let (written, unwritten) = (stage.signs_in(USER, vec![]).await, stage.signs_in(USER, vec![]).await);
    stage.memory.clock.advance(3 * DAY);
    assert!(opens(&stage.use_cases.authenticate, &written).await);
    stage.use_cases.authenticate.write_back().await.unwrap();
    assert!(opens(&stage.use_cases.authenticate, &unwritten).await);
    stage.memory.clock.advance(5 * DAY);
    let other = stage.another_node().authenticate;
    assert!(opens(&other, &written).await);
    assert!(!opens(&other, &unwritten).await);
    assert!(opens(&stage.use_cases.authenticate, &unwritten).await);
}

#[tokio::test]
async fn use_that_could_not_be_written_back_is_written_the_next_time() {
    let stage = Stage::new();
    let signed_in = stage.signs_in(USER, vec![]).await;
    let (authenticate, line) = stage.node_over_a_line();
    stage.memory.clock.advance(MINUTE);
    assert!(opens(&authenticate, &signed_in).await);
    line.cut.store(true, Ordering::SeqCst);
    assert!(authenticate.write_back().await.is_err());
    line.cut.store(false, Ordering::SeqCst);
    authenticate.write_back().await.unwrap();
    let stored = SessionStore::find(&*stage.memory.storage, &signed_in.session.id).await.unwrap().unwrap();
    assert_eq!(stored.last_seen_at, stage.memory.ports.clock.now());
    line.cut.store(true, Ordering::SeqCst);
    authenticate.write_back().await.expect("what was written is not written again");
}

#[tokio::test]
async fn uses_within_a_minute_are_written_back_as_one() {
    let stage = Stage::new();
    let signed_in = stage.signs_in(USER, vec![]).await;
    let (authenticate, line) = stage.node_over_a_line();
    stage.memory.clock.advance(MINUTE - INSTANT);
    assert!(opens(&authenticate, &signed_in).await);
    line.cut.store(true, Ordering::SeqCst);
    authenticate.write_back().await.expect("there is nothing to write yet");
}

#[tokio::test]
async fn a_revoked_session_opens_nothing_from_then_on() {
    let stage = Stage::new();
    let (ended, other) = (stage.signs_in(USER, vec![]).await, stage.signs_in(USER, vec![]).await);
    stage.use_cases.sessions.revoke(&ended.session.id).await.unwrap();
    assert!(!opens(&stage.use_cases.authenticate, &ended).await);
    assert!(opens(&stage.use_cases.authenticate, &other).await);
    stage.use_cases.authenticate.write_back().await.unwrap();
    assert!(!opens(&stage.another_node().authenticate, &ended).await);
}

#[tokio::test]
async fn tokens_signed_with_an_older_key_still_open_their_session() {
    let stage = Stage::new();
    let signed_in = stage.signs_in(USER, vec![]).await;
    let (old, new) = (SecretKey::new([1; 32]), SecretKey::new([2; 32]));
    let rotated = Settings { tokens: TokenRing::new(&new, &[old]), ..Settings::default() };
    assert!(opens(&stage.memory.ports.use_cases(rotated).authenticate, &signed_in).await);
    let without = Settings { tokens: TokenRing::new(&new, &[]), ..Settings::default() };
    assert!(!opens(&stage.memory.ports.use_cases(without).authenticate, &signed_in).await);
}

#[tokio::test]
async fn a_use_after_a_long_time_is_known_to_every_node_at_once() {
    let stage = Stage::new();
    let signed_in = stage.signs_in(USER, vec![]).await;
    let another = stage.another_node().authenticate;
    stage.memory.clock.advance(7 * DAY - MINUTE);
    assert!(opens(&stage.use_cases.authenticate, &signed_in).await);
    stage.memory.clock.advance(MINUTE);
    assert!(opens(&another, &signed_in).await, "it was used a minute ago, elsewhere");
    let limits = Settings::default().limits;
    let ended = limits.cutoffs(stage.memory.ports.clock.now());
    assert_eq!(stage.memory.storage.prune(ended, NonZeroU32::MAX).await.unwrap(), []);
}

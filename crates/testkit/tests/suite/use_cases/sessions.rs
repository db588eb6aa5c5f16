//! A token opens its session while that lives. Sessions are listed and ended; the last one to end triggers the
//! revocation of the grant.

use crate::use_cases::{DAY, HOUR, INSTANT, MINUTE, SECOND, Stage, USER};
use async_trait::async_trait;
use companion_domain::{
    change::Subject,
    model::SecretKey,
    port::{Clock as _, SessionStore, StoreError, StoreErrorKind},
    session::{Cutoffs, Session, TokenHash, TokenRing, Uses},
    usecase::{Authenticate, AuthenticateError, SignedIn},
};
use companion_storage_memory::{IdentityCall, MemoryStorage};
use companion_testkit::{
    over::{Over, SessionStoreOver},
    use_cases::{Settings, UseCases, settings},
    world::user_id,
};
use std::{
    mem,
    num::NonZeroU32,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

const ALL: NonZeroU32 = NonZeroU32::MAX;

impl Stage {
    /// Returns how often a grant was revoked, and whether the platform still honours one of [`USER`].
    async fn given_back(&self) -> (u64, bool) {
        self.memory.scheduler.settled().await;
        let identity = &self.memory.identity;
        (identity.calls(IdentityCall::Revoke), identity.is_authorised(user_id(USER)))
    }
}

#[tokio::test]
async fn revokes_nothing_without_kept_tokens() {
    let stage = Stage::with(Settings { keep_tokens: false, ..settings() });
    let signed_in = stage.signs_in(USER, vec![]).await;
    stage.use_cases.sessions.revoke(&signed_in.session.id).await.unwrap();
    assert_eq!(stage.given_back().await.0, 0);
    assert_eq!(stage.grant().await, None);
}

#[tokio::test]
async fn prunes_ended_sessions_and_revokes_their_grants_next_round() {
    let stage = Stage::new();
    stage.signs_in(USER, vec![]).await;
    stage.memory.clock.advance(SECOND);
    let live = stage.signs_in(USER + 1, vec![]).await;
    stage.memory.clock.advance(7 * DAY - SECOND);
    let pruned = stage.use_cases.sessions.prune(ALL).await.unwrap();
    assert_eq!(pruned.iter().map(|session| session.user).collect::<Vec<_>>(), [user_id(USER)]);
    assert_eq!(stage.use_cases.revoke_unused.round(None, ALL).await.unwrap(), None);
    assert_eq!(stage.given_back().await, (1, false));
    let kept = SessionStore::of_user(&*stage.memory.storage, user_id(USER + 1)).await.unwrap();
    assert_eq!(kept, [live.session]);
    assert_eq!(stage.use_cases.sessions.prune(ALL).await.unwrap(), []);
}

async fn opens(authenticate: &Authenticate, signed_in: &SignedIn) -> bool {
    match authenticate.authenticate(signed_in.token.expose()).await {
        Ok(session) => session.id == signed_in.session.id,
        Err(AuthenticateError::TokenRefused | AuthenticateError::Expired(_)) => false,
        Err(AuthenticateError::Store(error)) => panic!("{error}"),
    }
}

#[tokio::test]
async fn refuses_a_forged_token_without_a_look_up() {
    let stage = Stage::new();
    let good = stage.signs_in(USER, vec![]).await.token;
    let (authenticate, line) = stage.node_over_a_line();
    line.cut(true);
    let foreign = TokenRing::new(&SecretKey::new([9; 32]), &[]).issue(&stage.memory.ports.entropy.draw());
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
async fn a_session_ends_at_the_idle_limit() {
    let stage = Stage::new();
    let (used, unused) = (stage.signs_in(USER, vec![]).await, stage.signs_in(USER, vec![]).await);
    stage.memory.clock.advance(7 * DAY - INSTANT);
    assert!(opens(&stage.use_cases.authenticate, &used).await);
    stage.memory.clock.advance(INSTANT);
    assert!(opens(&stage.use_cases.authenticate, &used).await);
    assert!(!opens(&stage.use_cases.authenticate, &unused).await);
}

#[tokio::test]
async fn records_uses_an_hour_apart() {
    let stage = Stage::new();
    let signed_in = stage.signs_in(USER, vec![]).await;
    let (authenticate, line) = stage.node_over_a_line();
    stage.memory.clock.advance(HOUR - INSTANT);
    assert!(opens(&authenticate, &signed_in).await);
    assert!(line.touched().is_empty(), "it was used within the hour");
    stage.memory.clock.advance(INSTANT);
    for _ in 0..3 {
        assert!(opens(&authenticate, &signed_in).await);
    }
    assert_eq!(line.touched(), [1]);
}

#[tokio::test]
async fn an_unrecorded_use_is_recorded_with_the_next_one() {
    let stage = Stage::new();
    let signed_in = stage.signs_in(USER, vec![]).await;
    let (authenticate, line) = stage.node_over_a_line();
    stage.memory.clock.advance(HOUR);
    line.read_only(true);
    assert!(opens(&authenticate, &signed_in).await, "who can be recognised is let in");
    line.read_only(false);
    assert!(opens(&authenticate, &signed_in).await);
    let stored = SessionStore::find(&*stage.memory.storage, &signed_in.session.id).await.unwrap().unwrap();
    assert_eq!(stored.last_seen_at, stage.memory.ports.clock.now());
}

#[tokio::test]
async fn a_revoked_session_is_refused() {
    let stage = Stage::new();
    let (ended, other) = (stage.signs_in(USER, vec![]).await, stage.signs_in(USER, vec![]).await);
    stage.use_cases.sessions.revoke(&ended.session.id).await.unwrap();
    assert!(!opens(&stage.use_cases.authenticate, &ended).await);
    assert!(opens(&stage.use_cases.authenticate, &other).await);
    assert!(!opens(&stage.another_node().authenticate, &ended).await);
}

#[tokio::test]
async fn an_expired_session_stays_ended_after_a_clock_reset() {
    let (stage, recorder) = Stage::followed(MemoryStorage::new());
    let signed_in = stage.signs_in(USER, vec![]).await;
    stage.use_cases.dispatcher.catch_up().await.unwrap();
    stage.memory.clock.advance(7 * DAY);
    let refused = stage.use_cases.authenticate.authenticate(signed_in.token.expose()).await;
    assert!(matches!(refused, Err(AuthenticateError::Expired(session)) if session == signed_in.session));
    assert_eq!(recorder.subjects(), [Subject::Session(signed_in.session.id)]);
    stage.memory.scheduler.settled().await;
    assert!(!stage.memory.identity.is_authorised(user_id(USER)), "its grant is given back, as at any end");
    stage.memory.clock.set(stage.memory.clock.now().before(6 * DAY));
    let again = stage.use_cases.authenticate.authenticate(signed_in.token.expose()).await;
    assert!(matches!(again, Err(AuthenticateError::TokenRefused)), "removed once");
}

#[tokio::test]
async fn a_session_used_on_another_node_stays_alive() {
    let stage = Stage::new();
    let signed_in = stage.signs_in(USER, vec![]).await;
    stage.memory.clock.advance(6 * DAY);
    assert!(opens(&stage.use_cases.authenticate, &signed_in).await);
    stage.memory.clock.advance(DAY);
    let (elsewhere, line) = stage.node_over_a_line();
    *line.copy.lock().unwrap() = Some(signed_in.session.clone());
    assert!(opens(&elsewhere, &signed_in).await);
}

#[tokio::test]
async fn a_session_that_cannot_be_removed_is_not_reported_as_ended() {
    let stage = Stage::new();
    let signed_in = stage.signs_in(USER, vec![]).await;
    let (authenticate, line) = stage.node_over_a_line();
    stage.memory.clock.advance(7 * DAY);
    line.read_only(true);
    let failed = authenticate.authenticate(signed_in.token.expose()).await;
    assert!(matches!(failed, Err(AuthenticateError::Store(_))));
    line.read_only(false);
    assert!(!opens(&authenticate, &signed_in).await);
}

#[tokio::test]
async fn clock_resets_and_corrections_end_no_session() {
    for wrong_by in [MINUTE, HOUR, 3 * HOUR, 365 * DAY] {
        let stage = Stage::new();
        let signed_in = stage.signs_in(USER, vec![]).await;
        let right = stage.memory.clock.now();
        stage.memory.clock.set(right.before(wrong_by));
        for _ in 0..3 {
            stage.memory.clock.advance(MINUTE);
            assert!(opens(&stage.use_cases.authenticate, &signed_in).await, "{wrong_by:?}");
            assert_eq!(stage.use_cases.sessions.prune(NonZeroU32::MAX).await.unwrap(), []);
        }
        stage.memory.clock.set(right);
        assert!(opens(&stage.use_cases.authenticate, &signed_in).await, "{wrong_by:?}, and put right");
        assert!(opens(&stage.another_node().authenticate, &signed_in).await, "{wrong_by:?}, elsewhere");
    }
}

#[tokio::test]
async fn a_session_dated_ahead_ages_once_the_clock_is_proven() {
    let stage = Stage::new();
    let now = stage.memory.clock.now();
    stage.memory.clock.set(now.after(365 * DAY));
    let (used, unused) = (stage.signs_in(USER, vec![]).await, stage.signs_in(USER, vec![]).await);
    stage.memory.clock.set(now);
    assert_eq!(stage.use_cases.sessions.rewind(NonZeroU32::MAX).await.unwrap(), 2);
    assert_eq!(stage.use_cases.sessions.rewind(NonZeroU32::MAX).await.unwrap(), 0);
    for _ in 0..5 {
        stage.memory.clock.advance(6 * DAY - INSTANT);
        assert!(opens(&stage.use_cases.authenticate, &used).await);
    }
    assert!(!opens(&stage.use_cases.authenticate, &unused).await, "idle for longer than a week");
    stage.memory.clock.advance(5 * INSTANT);
    assert!(!opens(&stage.use_cases.authenticate, &used).await, "thirty days are over");
}

/// A store whose connection can be cut: operations then fail.
struct Line {
    store: Arc<MemoryStorage>,
    cut: AtomicBool,
    read_only: AtomicBool,
    touched: Mutex<Vec<usize>>,
    /// A stale copy, which the first look-up finds.
    copy: Mutex<Option<Session>>,
}

impl Line {
    /// Cuts or restores the connection.
    fn cut(&self, cut: bool) {
        self.cut.store(cut, SeqCst);
    }

    /// Makes the store read-only or writable.
    fn read_only(&self, read_only: bool) {
        self.read_only.store(read_only, SeqCst);
    }

    /// Returns the number of sessions in each touch since the last call.
    fn touched(&self) -> Vec<usize> {
        mem::take(&mut self.touched.lock().unwrap())
    }

    fn writable(&self) -> Result<(), StoreError> {
        if self.read_only.load(SeqCst) { Err(StoreError::unavailable("read-only")) } else { Ok(()) }
    }
}

#[async_trait]
impl SessionStoreOver for Line {
    fn sessions(&self) -> &dyn SessionStore {
        &*self.store
    }

    async fn before(&self) -> Result<(), StoreError> {
        if self.cut.load(SeqCst) { Err(StoreError::unavailable("cut")) } else { Ok(()) }
    }

    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        self.before().await?;
        let copy = self.copy.lock().unwrap().take();
        if copy.is_some() { Ok(copy) } else { self.sessions().find(id).await }
    }

    async fn touch(&self, seen: Uses<'_>) -> Result<(), StoreError> {
        self.writable()?;
        self.sessions().touch(seen).await?;
        self.touched.lock().unwrap().push(seen.as_slice().len());
        Ok(())
    }

    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError> {
        self.writable()?;
        self.sessions().expire(id, ended).await
    }
}

impl Stage {
    /// Returns a node whose connection to the sessions can be cut.
    fn node_over_a_line(&self) -> (Arc<Authenticate>, Arc<Over<Line>>) {
        let line = Arc::new(Over(Line {
            store: Arc::clone(&self.memory.storage),
            cut: AtomicBool::new(false),
            read_only: AtomicBool::new(false),
            touched: Mutex::default(),
            copy: Mutex::default(),
        }));
        let mut ports = self.memory.ports.clone();
        ports.stores.sessions = line.clone();
        (UseCases::new(&ports, settings()).authenticate, line)
    }
}

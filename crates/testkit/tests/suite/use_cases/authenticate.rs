//! A token opens its session, as long as that lives.

use crate::use_cases::{DAY, HOUR, INSTANT, MINUTE, Stage, USER};
use companion_domain::{
    change::Subject,
    model::SecretKey,
    port::{Clock as _, SessionStore, StoreErrorKind},
    session::TokenRing,
    usecase::{Authenticate, AuthenticateError, SignedIn},
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::use_cases::{Settings, UseCases, settings};
use companion_testkit::world::user_id;
use std::num::NonZeroU32;

async fn opens(authenticate: &Authenticate, signed_in: &SignedIn) -> bool {
    match authenticate.authenticate(signed_in.token.expose()).await {
        Ok(session) => session.id == signed_in.session.id,
        Err(AuthenticateError::TokenRefused | AuthenticateError::Over(_)) => false,
        Err(AuthenticateError::Store(error)) => panic!("{error}"),
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
async fn use_counts_on_every_node() {
    let stage = Stage::new();
    let (used, unused) = (stage.signs_in(USER, vec![]).await, stage.signs_in(USER, vec![]).await);
    stage.memory.clock.advance(3 * DAY);
    assert!(opens(&stage.use_cases.authenticate, &used).await);
    stage.memory.clock.advance(5 * DAY);
    let other = stage.another_node().authenticate;
    assert!(opens(&other, &used).await);
    assert!(!opens(&other, &unused).await);
}

#[tokio::test]
async fn uses_are_recorded_an_hour_apart() {
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
async fn use_that_could_not_be_recorded_is_recorded_with_the_next_one() {
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
async fn a_revoked_session_opens_nothing_from_then_on() {
    let stage = Stage::new();
    let (ended, other) = (stage.signs_in(USER, vec![]).await, stage.signs_in(USER, vec![]).await);
    stage.use_cases.sessions.revoke(&ended.session.id).await.unwrap();
    assert!(!opens(&stage.use_cases.authenticate, &ended).await);
    assert!(opens(&stage.use_cases.authenticate, &other).await);
    assert!(!opens(&stage.another_node().authenticate, &ended).await);
}

#[tokio::test]
async fn tokens_signed_with_an_older_key_still_open_their_session() {
    let stage = Stage::new();
    let signed_in = stage.signs_in(USER, vec![]).await;
    let (old, new) = (SecretKey::new([1; 32]), SecretKey::new([2; 32]));
    let rotated = Settings { tokens: TokenRing::new(&new, &[old]), ..settings() };
    assert!(opens(&UseCases::new(&stage.memory.ports, rotated).authenticate, &signed_in).await);
    let without = Settings { tokens: TokenRing::new(&new, &[]), ..settings() };
    assert!(!opens(&UseCases::new(&stage.memory.ports, without).authenticate, &signed_in).await);
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
    let limits = settings().limits;
    let ended = limits.cutoffs(stage.memory.ports.clock.now());
    assert_eq!(stage.memory.storage.prune(ended, NonZeroU32::MAX).await.unwrap(), []);
}

#[tokio::test]
async fn a_session_refused_as_over_is_removed_and_stays_ended_when_the_clock_is_set_back() {
    let (stage, recorder) = Stage::followed(MemoryStorage::new());
    let signed_in = stage.signs_in(USER, vec![]).await;
    stage.use_cases.following.catch_up().await.unwrap();
    stage.memory.clock.advance(7 * DAY);
    let refused = stage.use_cases.authenticate.authenticate(signed_in.token.expose()).await;
    assert!(matches!(refused, Err(AuthenticateError::Over(session)) if session == signed_in.session));
    assert_eq!(recorder.subjects(), [Subject::Session(signed_in.session.id)]);
    stage.memory.scheduler.settled().await;
    assert!(!stage.memory.identity.is_authorised(user_id(USER)), "its grant is given back, as at any end");
    stage.memory.clock.set(stage.memory.clock.now().before(6 * DAY));
    let again = stage.use_cases.authenticate.authenticate(signed_in.token.expose()).await;
    assert!(matches!(again, Err(AuthenticateError::TokenRefused)), "removed once");
}

#[tokio::test]
async fn a_session_that_another_node_has_seen_used_meanwhile_lives() {
    let stage = Stage::new();
    let signed_in = stage.signs_in(USER, vec![]).await;
    stage.memory.clock.advance(6 * DAY);
    assert!(opens(&stage.use_cases.authenticate, &signed_in).await);
    stage.memory.clock.advance(DAY);
    let (elsewhere, line) = stage.node_over_a_line();
    line.finds_first(signed_in.session.clone());
    assert!(opens(&elsewhere, &signed_in).await);
}

#[tokio::test]
async fn a_session_that_cannot_be_removed_is_not_told_to_be_over() {
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
async fn no_clock_that_is_set_back_signs_anyone_out_nor_when_it_is_put_right() {
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
async fn a_session_dated_ahead_ages_from_when_the_clock_is_believed() {
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

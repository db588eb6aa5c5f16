//! Sessions are listed and ended, and the platform gets its grant back with the last one.

use crate::use_cases::{DAY, HOUR, SECOND, Stage, USER};
use companion_domain::{
    change::Subject,
    port::{GrantStore, SessionStore},
    usecase::Round,
};
use companion_storage_memory::{IdentityCall, MemoryStorage};
use companion_testkit::use_cases::{Settings, settings};
use companion_testkit::world::user_id;
use std::num::NonZeroU32;

const ALL: NonZeroU32 = NonZeroU32::MAX;

impl Stage {
    /// How often a grant was given back, and whether the platform still honours one of [`USER`].
    async fn given_back(&self) -> (u64, bool) {
        self.memory.scheduler.settled().await;
        let identity = &self.memory.identity;
        (identity.calls(IdentityCall::Revoke), identity.is_authorised(user_id(USER)))
    }
}

#[tokio::test]
async fn the_grant_is_given_back_with_the_last_session_and_not_before() {
    let stage = Stage::new();
    let (one, other) = (stage.signs_in(USER, vec![]).await, stage.signs_in(USER, vec![]).await);
    let ended = stage.use_cases.sessions.revoke(&one.session.id).await.unwrap();
    assert_eq!(ended, Some(one.session));
    assert_eq!(stage.given_back().await, (0, true));
    stage.use_cases.sessions.revoke(&other.session.id).await.unwrap();
    assert_eq!(stage.given_back().await, (1, false));
    assert_eq!(GrantStore::find(&*stage.memory.storage, user_id(USER)).await.unwrap(), None);
}

#[tokio::test]
async fn ending_a_session_twice_is_harmless() {
    let stage = Stage::new();
    let signed_in = stage.signs_in(USER, vec![]).await;
    assert!(stage.use_cases.sessions.revoke(&signed_in.session.id).await.unwrap().is_some());
    assert_eq!(stage.use_cases.sessions.revoke(&signed_in.session.id).await.unwrap(), None);
    assert_eq!(stage.given_back().await, (1, false));
}

#[tokio::test]
async fn a_token_signs_its_own_session_out() {
    let stage = Stage::new();
    let (one, other) = (stage.signs_in(USER, vec![]).await, stage.signs_in(USER, vec![]).await);
    let sessions = &stage.use_cases.sessions;
    assert_eq!(sessions.sign_out("cmp_nonsense").await.unwrap(), None);
    assert_eq!(sessions.sign_out(one.token.expose()).await.unwrap(), Some(one.session));
    assert_eq!(sessions.sign_out(one.token.expose()).await.unwrap(), None);
    assert_eq!(sessions.of_user(user_id(USER)).await.unwrap(), [other.session]);
}

#[tokio::test]
async fn all_sessions_of_a_user_end_together_and_nobody_elses() {
    let stage = Stage::new();
    stage.signs_in(USER, vec![]).await;
    stage.signs_in(USER, vec![]).await;
    let bystander = stage.signs_in(USER + 1, vec![]).await;
    assert_eq!(stage.use_cases.sessions.revoke_user(user_id(USER)).await.unwrap().len(), 2);
    assert_eq!(stage.given_back().await, (1, false));
    assert!(stage.use_cases.authenticate.authenticate(bystander.token.expose()).await.is_ok());
    assert!(stage.memory.identity.is_authorised(user_id(USER + 1)));
}

#[tokio::test]
async fn without_kept_tokens_there_is_nothing_to_give_back() {
    let stage = Stage::with(Settings { keep_tokens: false, ..settings() });
    let signed_in = stage.signs_in(USER, vec![]).await;
    stage.use_cases.sessions.revoke(&signed_in.session.id).await.unwrap();
    assert_eq!(stage.given_back().await.0, 0);
    assert_eq!(GrantStore::find(&*stage.memory.storage, user_id(USER)).await.unwrap(), None);
}

#[tokio::test]
async fn only_live_sessions_are_listed_the_oldest_first() {
    let stage = Stage::new();
    stage.signs_in(USER, vec![]).await;
    stage.memory.clock.advance(6 * DAY);
    let older = stage.signs_in(USER, vec![]).await;
    stage.memory.clock.advance(HOUR);
    let newer = stage.signs_in(USER, vec![]).await;
    stage.memory.clock.advance(DAY);
    assert_eq!(
        stage.use_cases.sessions.of_user(user_id(USER)).await.unwrap(),
        [older.session, newer.session]
    );
}

#[tokio::test]
async fn sessions_that_are_over_are_removed_and_their_grants_given_back_in_the_next_round() {
    let stage = Stage::new();
    stage.signs_in(USER, vec![]).await;
    stage.memory.clock.advance(SECOND);
    let live = stage.signs_in(USER + 1, vec![]).await;
    stage.memory.clock.advance(7 * DAY - SECOND);
    let pruned = stage.use_cases.sessions.prune(ALL).await.unwrap();
    assert_eq!(pruned.iter().map(|session| session.user).collect::<Vec<_>>(), [user_id(USER)]);
    assert_eq!(stage.use_cases.give_back.round(None, ALL).await.unwrap(), Round::Done);
    assert_eq!(stage.given_back().await, (1, false));
    let kept = SessionStore::of_user(&*stage.memory.storage, user_id(USER + 1)).await.unwrap();
    assert_eq!(kept, [live.session]);
    assert_eq!(stage.use_cases.sessions.prune(ALL).await.unwrap(), []);
}

#[tokio::test]
async fn the_end_of_a_session_is_told_to_those_who_keep_copies_before_it_is_answered() {
    let (stage, recorder) = Stage::followed(MemoryStorage::new());
    let (one, other) = (stage.signs_in(USER, vec![]).await, stage.signs_in(USER, vec![]).await);
    stage.use_cases.following.catch_up().await.unwrap();
    stage.use_cases.sessions.revoke(&one.session.id).await.unwrap();
    assert_eq!(recorder.subjects(), [Subject::Session(one.session.id)]);
    stage.use_cases.sessions.revoke_user(user_id(USER)).await.unwrap();
    assert_eq!(recorder.subjects()[1], Subject::Session(other.session.id));
}

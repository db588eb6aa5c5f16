//! What the behaviours have in common.

use crate::conformance::{concurrency::all_of, sample::NONE_OVER};
use companion_domain::{
    model::Timestamp,
    port::SessionStore,
    session::{Session, TokenHash, Uses},
};
use std::num::NonZeroU32;

/// More than any test makes for one user.
pub(super) const MANY: NonZeroU32 = NonZeroU32::new(5000).unwrap();

/// Makes sessions where there is room for all of them.
pub(super) async fn make(store: &dyn SessionStore, sessions: &[Session]) {
    for session in sessions {
        assert_eq!(store.create(session, MANY, NONE_OVER).await.unwrap(), []);
    }
}

/// The same for more than anyone would wait for one by one.
pub(super) async fn make_many(store: &dyn SessionStore, sessions: &[Session]) {
    let made = all_of(sessions.iter().map(|session| store.create(session, MANY, NONE_OVER))).await;
    assert!(made.into_iter().all(|gone| gone.unwrap().is_empty()), "there is room for all");
}

/// Notes uses, as many as one write takes.
pub(super) async fn touch(store: &dyn SessionStore, used: &[(TokenHash, Timestamp)]) {
    for batch in Uses::batches(used) {
        store.touch(batch).await.unwrap();
    }
}

pub(super) fn by_age(mut sessions: Vec<Session>) -> Vec<Session> {
    sessions.sort_by_key(|session| (session.created_at, session.id));
    sessions
}

//! The contract of a [`SessionStore`].

mod cap;
mod ends;

use self::cap::{HIGH_CAP, by_age, make, touch};
use super::{
    Damage, Fresh,
    sample::{BEYOND_SIGNED, NONE_OVER, TEN, at, session, token_hash, user_id},
};
use companion_domain::{
    model::UserId,
    port::{SessionStore, StoreErrorKind},
    session::{Cutoffs, Session, TokenHash},
};
use std::num::NonZeroU32;

suite! {
    /// Generates one test per behaviour of a `SessionStore`.
    session_store_conformance($): session_store, dyn SessionStore;
    sessions_are_found_counted_and_listed_by_user_oldest_first,
    a_cached_session_equals_the_stored_one,
    every_byte_of_an_id_counts,
    an_existing_id_is_a_conflict_and_changes_nothing,
    a_write_does_not_block_the_polling_thread,
    an_unreadable_session_is_corrupt_and_can_be_ended,
    @cap {
        the_cap_evicts_ended_sessions_then_the_oldest,
        concurrent_callers_never_exceed_the_cap,
        handles_very_many_sessions_of_a_user,
        prune_fills_its_limit_while_sessions_remain,
        a_cancelled_write_is_complete_or_absent,
    }
    @ends {
        a_touch_only_advances_the_last_use,
        one_touch_accepts_the_maximum_number_of_uses,
        the_latest_of_concurrent_touches_wins,
        revoke_ends_one_session_and_is_idempotent,
        expiry_is_exact_to_the_microsecond,
        exactly_one_concurrent_caller_ends_a_session,
        concurrent_prunes_return_each_session_once,
        rewind_sets_only_times_beyond_the_horizon,
        every_operation_honours_recorded_uses,
        prune_removes_unreadable_sessions_beyond_its_limit,
    }
}

impl Fresh<Port> {
    /// Asserts that both handles list exactly these sessions of a user.
    async fn lists(&self, user: UserId, expected: &[Session]) {
        assert_eq!(self.shows(async |store| store.of_user(user).await.unwrap()).await, expected);
    }

    /// Asserts what both handles find under the id of a session.
    async fn finds(&self, session: &Session, expected: Option<&Session>) {
        assert_eq!(self.shows(async |store| store.find(&session.id).await.unwrap()).await.as_ref(), expected);
    }
}

/// Returns a session with these times of creation and last use, in microseconds.
fn used(number: u64, user: UserId, (made, seen): (i64, i64)) -> Session {
    Session { last_seen_at: at(seen), ..session(number, user, at(made)) }
}

async fn sessions_are_found_counted_and_listed_by_user_oldest_first(fresh: &Fresh<Port>) {
    let users = [1, 2, BEYOND_SIGNED - 1, BEYOND_SIGNED, BEYOND_SIGNED + 1, u64::MAX].map(user_id);
    let times = [(123_457, 987_654_321), (100, 100), (900, 900), (-9_000_000_000, 5), (300, 300)];
    let of = |(place, user): (u64, UserId)| {
        let numbers = 10 * place + 1..;
        numbers.zip(times).map(|(number, times)| used(number, user, times)).collect::<Vec<_>>()
    };
    let mut left: u64 = 0;
    let counts = async |expected: u64| {
        // Counting is optional.
        let count = fresh.shows(async |store| store.count().await.unwrap()).await;
        assert!(count.is_none_or(|count| count == expected), "{count:?}, not {expected}");
    };
    counts(0).await;
    for user in (0..).zip(users) {
        fresh.lists(user.1, &[]).await;
        make(&*fresh.one, &of(user)).await;
        left += times.len() as u64;
    }
    counts(left).await;
    for user in (0..).zip(users) {
        for session in of(user) {
            fresh.finds(&session, Some(&session)).await;
        }
        // Whether they have ended or not.
        let expected = by_age(of(user));
        fresh.lists(user.1, &expected).await;
        assert_eq!(fresh.one.revoke_user(user.1).await.unwrap(), expected);
        fresh.lists(user.1, &[]).await;
        left -= times.len() as u64;
        counts(left).await;
    }
}

async fn a_cached_session_equals_the_stored_one(fresh: &Fresh<Port>) {
    let made = session(1, user_id(1), at(5));
    let check = async || {
        fresh
            .through_both(async |store| {
                // Before and after it was read.
                let before = store.cached(&made.id);
                let found = store.find(&made.id).await.unwrap();
                for cached in [before, store.cached(&made.id)] {
                    assert!(cached.is_none() || cached == found, "{cached:?} is cached, not {found:?}");
                }
            })
            .await;
    };
    check().await;
    make(&*fresh.one, std::slice::from_ref(&made)).await;
    check().await;
    touch(&*fresh.one, &[(made.id, at(50))]).await;
    check().await;
    fresh.one.revoke(&made.id).await.unwrap();
    check().await;
}

async fn every_byte_of_an_id_counts(fresh: &Fresh<Port>) {
    let id = |place: usize| {
        let mut bytes = [0x5A; 32];
        if let Some(byte) = bytes.get_mut(place) {
            *byte = 0xA5;
        }
        TokenHash::from_bytes(bytes)
    };
    // The last one has the unchanged id, because there is no byte 32.
    let sessions: Vec<_> = (0_u8..33)
        .map(|place| Session { id: id(place.into()), ..session(1, user_id(1), at(place.into())) })
        .collect();
    make(&*fresh.one, &sessions).await;
    for session in &sessions {
        assert_eq!(fresh.one.find(&session.id).await.unwrap(), Some(session.clone()));
    }
    // An operation on one of them affects no other.
    let (over, used) = (Cutoffs { created: at(100), ..NONE_OVER }, at(50));
    let [expired, revoked, touched] = [id(7), id(31), id(32)];
    assert_eq!(fresh.one.expire(&expired, over).await.unwrap().map(|session| session.id), Some(expired));
    assert_eq!(fresh.one.revoke(&revoked).await.unwrap().map(|session| session.id), Some(revoked));
    touch(&*fresh.one, &[(touched, used)]).await;
    let left = sessions.into_iter().filter(|session| ![expired, revoked].contains(&session.id));
    let seen = |one: &Session| if one.id == touched { used } else { one.last_seen_at };
    let left: Vec<_> = left.map(|session| Session { last_seen_at: seen(&session), ..session }).collect();
    fresh.lists(user_id(1), &left).await;
}

async fn an_existing_id_is_a_conflict_and_changes_nothing(fresh: &Fresh<Port>) {
    let (first, second) = (session(1, user_id(1), at(1)), session(2, user_id(1), at(2)));
    make(&*fresh.one, &[first.clone(), second.clone()]).await;
    for repeated in [session(1, user_id(1), at(3)), session(1, user_id(9), at(3)), first.clone()] {
        let refused = fresh.one.create(&repeated, NonZeroU32::MIN, NONE_OVER).await.unwrap_err();
        assert_eq!(refused.kind, StoreErrorKind::Conflict);
    }
    fresh.lists(user_id(1), &[first, second]).await;
    fresh.lists(user_id(9), &[]).await;
    let attempts = fresh
        .concurrently(|number, store| async move {
            let session = session(3, user_id(number + 1), at(0));
            store.create(&session, TEN, NONE_OVER).await.map(|_| session).map_err(|error| error.kind)
        })
        .await;
    let (made, refused): (Vec<_>, Vec<_>) = attempts.into_iter().partition(Result::is_ok);
    assert!(refused.iter().all(|attempt| *attempt == Err(StoreErrorKind::Conflict)));
    assert_eq!(made, [Ok(fresh.one.find(&token_hash(3)).await.unwrap().unwrap())]);
}

async fn a_write_does_not_block_the_polling_thread(fresh: &Fresh<Port>) {
    let made = session(1, user_id(1), at(0));
    fresh.waits_elsewhere(async move |store| store.create(&made, TEN, NONE_OVER).await.unwrap()).await;
}

async fn an_unreadable_session_is_corrupt_and_can_be_ended(fresh: &Fresh<Port>) {
    let store = &fresh.one;
    let all = [1, 2, 3, 4].map(|number| session(number, user_id(number), at(0)));
    let [revoked, pruned, ended, sound] = all.clone();
    make(&**store, &all).await;
    if !fresh.damage([&revoked, &pruned, &ended].map(|session| Damage::Session(session.id))).await {
        return;
    }
    let found = fresh.shows(async |store| store.find(&revoked.id).await.map_err(|error| error.kind)).await;
    assert_eq!(found, Err(StoreErrorKind::Corrupt), "an unreadable session opens nothing");
    fresh.lists(revoked.user, &[]).await;
    fresh.finds(&sound, Some(&sound)).await;
    assert_eq!(store.revoke(&revoked.id).await.unwrap(), None);
    fresh.finds(&revoked, None).await;
    let over = Cutoffs { created: at(0), ..NONE_OVER };
    assert_eq!(store.prune(over, HIGH_CAP).await.unwrap(), [sound], "the rest is pruned as ever");
    make(&**store, &[session(5, ended.user, at(1))]).await;
    assert_eq!(store.revoke_user(ended.user).await.unwrap().len(), 1);
}

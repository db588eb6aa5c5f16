//! What a [`SessionStore`] promises.

mod cap;
mod ends;

use self::cap::{MANY, by_age, make, touch};
use super::{
    Damage, Fresh,
    sample::{BEYOND_SIGNED, NONE_OVER, TEN, at, session, token_hash, user_id},
};
use companion_domain::{
    port::{SessionStore, StoreErrorKind},
    session::{Cutoffs, Session, TokenHash},
};
use std::num::NonZeroU32;

suite! {
    /// Makes one test of each behaviour of a `SessionStore`.
    session_store_conformance($): session_store, dyn SessionStore;
    what_was_never_made_is_not_there,
    a_session_is_found_as_it_was_made,
    what_is_at_hand_is_what_would_be_found,
    every_byte_of_an_id_counts,
    an_id_that_exists_is_a_conflict_and_changes_nothing,
    of_callers_at_once_exactly_one_makes_an_id,
    sessions_of_a_user_come_oldest_first_over_or_not,
    sessions_are_counted_where_they_can_be,
    users_beyond_63_bits_are_kept_apart,
    a_write_does_not_block_the_thread_that_polls_it needs Gating,
    a_session_that_cannot_be_read_lets_nobody_in_and_can_be_ended needs Damaging,
    @cap {
        the_eleventh_session_takes_the_oldest_away,
        sessions_that_are_over_go_before_older_live_ones,
        sessions_that_are_over_stay_while_there_is_room,
        sessions_dated_ahead_go_before_those_that_were_made_since,
        when_a_session_is_over_is_decided_to_the_microsecond_at_the_cap,
        a_lowered_cap_takes_away_all_that_exceeds_it,
        a_cap_of_one_leaves_the_new_session_alone,
        a_new_session_stays_though_others_were_made_in_the_same_moment,
        the_cap_counts_each_user_alone,
        callers_at_once_never_exceed_the_cap,
        a_user_with_very_many_sessions_is_served_in_full,
        one_touch_serves_as_many_as_it_may_name,
        a_limit_is_reached_while_there_is_enough,
        a_write_that_is_given_up_is_made_whole_or_not_at_all,
    }
    @ends {
        a_touch_moves_the_last_use_forward_and_nothing_else,
        a_touch_never_moves_back,
        a_touch_never_brings_a_session_back,
        one_touch_serves_many_sessions,
        of_touches_at_once_the_latest_counts,
        revoking_ends_one_session_and_can_be_repeated,
        of_callers_at_once_exactly_one_revokes_a_session,
        a_session_expires_to_the_microsecond_and_not_while_it_lives,
        of_callers_at_once_exactly_one_expires_a_session,
        all_sessions_of_a_user_are_revoked_oldest_first_and_once,
        prune_takes_what_is_over_to_the_microsecond_and_nothing_else,
        prune_takes_at_most_the_limit_and_the_rest_later,
        prune_takes_each_session_once_whoever_asks,
        times_beyond_the_horizon_are_set_to_now_and_no_others,
        rewind_takes_at_most_the_limit_and_the_rest_later,
        uses_count_wherever_a_session_is_judged_or_returned,
        prune_removes_unreadable_sessions_and_is_not_cut_short_by_them needs Damaging,
    }
}

async fn what_was_never_made_is_not_there(fresh: &Fresh<Port>) {
    let (store, user) = (&fresh.one, user_id(1));
    let all_over = Cutoffs { created: at(0), seen: at(0), ..NONE_OVER };
    assert_eq!(store.find(&token_hash(1)).await.unwrap(), None);
    assert_eq!(store.of_user(user).await.unwrap(), []);
    assert_eq!(store.revoke(&token_hash(1)).await.unwrap(), None);
    assert_eq!(store.revoke_user(user).await.unwrap(), []);
    assert_eq!(store.prune(all_over, MANY).await.unwrap(), []);
    assert_eq!(store.expire(&token_hash(1), all_over).await.unwrap(), None);
    assert_eq!(store.rewind(at(0), MANY).await.unwrap(), 0);
    touch(&**store, &[(token_hash(1), at(5))]).await;
    assert_eq!(store.find(&token_hash(1)).await.unwrap(), None);
}

async fn a_session_is_found_as_it_was_made(fresh: &Fresh<Port>) {
    let made = Session { last_seen_at: at(987_654_321), ..session(1, user_id(1), at(123_457)) };
    make(&*fresh.one, &[made.clone(), session(2, user_id(2), at(5))]).await;
    fresh
        .through_both(async |store| {
            assert_eq!(store.find(&made.id).await.unwrap(), Some(made.clone()));
            assert_eq!(store.of_user(made.user).await.unwrap(), std::slice::from_ref(&made));
        })
        .await;
}

async fn what_is_at_hand_is_what_would_be_found(fresh: &Fresh<Port>) {
    let made = session(1, user_id(1), at(5));
    let check = async || {
        fresh
            .through_both(async |store| {
                // Before and after it was looked for.
                let before = store.cached(&made.id);
                let found = store.find(&made.id).await.unwrap();
                for cached in [before, store.cached(&made.id)] {
                    assert!(cached.is_none() || cached == found, "{cached:?} is at hand, not {found:?}");
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
    // The last one has the plain id: 32 bytes have no place 32.
    let sessions: Vec<_> = (0_u8..33)
        .map(|place| Session { id: id(place.into()), ..session(1, user_id(1), at(place.into())) })
        .collect();
    make(&*fresh.one, &sessions).await;
    for session in &sessions {
        assert_eq!(fresh.one.find(&session.id).await.unwrap(), Some(session.clone()));
    }
    // Whatever is done to one of them is done to none of the others.
    let (over, used) = (Cutoffs { created: at(100), ..NONE_OVER }, at(50));
    let [expired, revoked, touched] = [id(7), id(31), id(32)];
    assert_eq!(fresh.one.expire(&expired, over).await.unwrap().map(|session| session.id), Some(expired));
    assert_eq!(fresh.one.revoke(&revoked).await.unwrap().map(|session| session.id), Some(revoked));
    touch(&*fresh.one, &[(touched, used)]).await;
    let left = sessions.into_iter().filter(|session| ![expired, revoked].contains(&session.id));
    let left: Vec<_> = left
        .map(
            |session| if session.id == touched { Session { last_seen_at: used, ..session } } else { session },
        )
        .collect();
    fresh.through_both(async |store| assert_eq!(store.of_user(user_id(1)).await.unwrap(), left)).await;
}

async fn an_id_that_exists_is_a_conflict_and_changes_nothing(fresh: &Fresh<Port>) {
    let store = &fresh.one;
    let (first, second) = (session(1, user_id(1), at(1)), session(2, user_id(1), at(2)));
    make(&**store, &[first.clone(), second.clone()]).await;
    for repeated in [session(1, user_id(1), at(3)), session(1, user_id(9), at(3)), first.clone()] {
        let refused = store.create(&repeated, NonZeroU32::MIN, NONE_OVER).await.unwrap_err();
        assert_eq!(refused.kind, StoreErrorKind::Conflict);
    }
    assert_eq!(
        store.of_user(user_id(1)).await.unwrap(),
        [first, second],
        "a refused session takes nothing away"
    );
    assert_eq!(store.of_user(user_id(9)).await.unwrap(), []);
}

async fn of_callers_at_once_exactly_one_makes_an_id(fresh: &Fresh<Port>) {
    let attempts = fresh
        .concurrently(|number, store| async move {
            let session = session(1, user_id(number + 1), at(0));
            store.create(&session, TEN, NONE_OVER).await.map(|_| session).map_err(|error| error.kind)
        })
        .await;
    let (made, refused): (Vec<_>, Vec<_>) = attempts.into_iter().partition(Result::is_ok);
    assert_eq!(made.len(), 1);
    assert!(refused.iter().all(|attempt| *attempt == Err(StoreErrorKind::Conflict)));
    assert_eq!(fresh.one.find(&token_hash(1)).await.unwrap().map(Ok), made.first().cloned());
}

async fn sessions_of_a_user_come_oldest_first_over_or_not(fresh: &Fresh<Port>) {
    let ages = [(1, 500), (2, 100), (3, 900), (4, -9_000_000_000), (5, 300)];
    let mine = ages.map(|(number, micros)| session(number, user_id(1), at(micros)));
    make(&*fresh.one, &mine).await;
    make(&*fresh.one, &[session(6, user_id(2), at(200))]).await;
    fresh.settle().await;
    assert_eq!(fresh.other.of_user(user_id(1)).await.unwrap(), by_age(mine.to_vec()));
}

async fn sessions_are_counted_where_they_can_be(fresh: &Fresh<Port>) {
    let Some(none) = fresh.one.count().await.unwrap() else { return };
    assert_eq!(none, 0);
    let sessions = [(1, 1), (2, 1), (3, 2)].map(|(number, user)| session(number, user_id(user), at(0)));
    make(&*fresh.one, &sessions).await;
    fresh.settle().await;
    assert_eq!(fresh.other.count().await.unwrap(), Some(3));
    fresh.one.revoke(&token_hash(2)).await.unwrap();
    fresh.settle().await;
    assert_eq!(fresh.other.count().await.unwrap(), Some(2));
}

async fn users_beyond_63_bits_are_kept_apart(fresh: &Fresh<Port>) {
    let users = [1, BEYOND_SIGNED - 1, BEYOND_SIGNED, BEYOND_SIGNED + 1, u64::MAX].map(user_id);
    let sessions: Vec<_> = (1..).zip(users).map(|(number, user)| session(number, user, at(0))).collect();
    make(&*fresh.one, &sessions).await;
    for session in sessions {
        assert_eq!(fresh.one.of_user(session.user).await.unwrap(), std::slice::from_ref(&session));
        assert_eq!(fresh.one.revoke_user(session.user).await.unwrap(), [session]);
    }
}

async fn a_write_does_not_block_the_thread_that_polls_it(fresh: &Fresh<Port>) {
    fresh
        .waits_elsewhere(async |store| {
            store.create(&session(1, user_id(1), at(0)), TEN, NONE_OVER).await.unwrap()
        })
        .await;
}

async fn a_session_that_cannot_be_read_lets_nobody_in_and_can_be_ended(fresh: &Fresh<Port>) {
    let store = &fresh.one;
    let all = [1, 2, 3, 4].map(|number| session(number, user_id(number), at(0)));
    let [revoked, pruned, ended, sound] = all.clone();
    make(&**store, &all).await;
    for session in [revoked.clone(), pruned, ended.clone()] {
        if !fresh.damage(Damage::Session(session.id)).await {
            return;
        }
    }
    fresh
        .through_both(async |store| {
            let refused = store.find(&revoked.id).await.unwrap_err();
            assert_eq!(refused.kind, StoreErrorKind::Corrupt, "nobody is let in on a guess");
            assert_eq!(store.of_user(revoked.user).await.unwrap(), [], "lists go on without it");
            assert_eq!(store.find(&sound.id).await.unwrap(), Some(sound.clone()));
        })
        .await;
    assert_eq!(store.revoke(&revoked.id).await.unwrap(), None);
    assert_eq!(store.find(&revoked.id).await.unwrap(), None, "it is gone all the same");
    let over = Cutoffs { created: at(0), ..NONE_OVER };
    assert_eq!(store.prune(over, MANY).await.unwrap(), [sound], "the rest is pruned as ever");
    make(&**store, &[session(5, ended.user, at(1))]).await;
    assert_eq!(store.revoke_user(ended.user).await.unwrap().len(), 1);
}

//! The end of sessions, and their last use.

use super::{
    Port,
    cap::{HIGH_CAP, by_age, make, make_many, touch},
    used,
};
use crate::conformance::{
    Damage, Fresh,
    concurrency::CALLERS,
    sample::{NONE_OVER, at, session, token_hash, user_id},
};
use companion_domain::session::{Cutoffs, Session, Uses};
use std::num::NonZeroU32;

pub(super) async fn revoke_ends_one_session_and_is_idempotent(fresh: &Fresh<Port>) {
    let sessions =
        [(1, 1), (2, 1), (3, 2), (4, 3)].map(|(number, user)| session(number, user_id(user), at(0)));
    let [ended, same_user, other_user, twice] = sessions.clone();
    let all_over = Cutoffs { created: at(0), seen: at(0), ..NONE_OVER };
    fresh.finds(&ended, None).await;
    assert_eq!(fresh.one.revoke(&ended.id).await.unwrap(), None);
    assert_eq!(fresh.one.expire(&ended.id, all_over).await.unwrap(), None);
    assert_eq!(fresh.one.prune(all_over, HIGH_CAP).await.unwrap(), []);
    assert_eq!(fresh.one.rewind(at(0), HIGH_CAP).await.unwrap(), 0);
    make(&*fresh.one, &sessions).await;
    // Found through both handles before, so that a handle with a stale cache fails.
    fresh.finds(&ended, Some(&ended)).await;
    assert_eq!(fresh.one.revoke(&ended.id).await.unwrap(), Some(ended.clone()));
    assert_eq!(fresh.one.revoke(&twice.id).await.unwrap(), Some(twice.clone()));
    assert_eq!(fresh.other.revoke(&twice.id).await.unwrap(), None, "an outcome rests on no copy");
    fresh.finds(&ended, None).await;
    assert_eq!(fresh.one.revoke(&ended.id).await.unwrap(), None);
    fresh.lists(user_id(1), &[same_user]).await;
    fresh.lists(user_id(2), &[other_user]).await;
}

pub(super) async fn exactly_one_concurrent_caller_ends_a_session(fresh: &Fresh<Port>) {
    let over = Cutoffs { created: at(0), ..NONE_OVER };
    for expires in [false, true] {
        let made = session(1, user_id(1), at(0));
        make(&*fresh.one, std::slice::from_ref(&made)).await;
        let ended = fresh
            .concurrently(move |_, store| async move {
                match expires {
                    true => store.expire(&token_hash(1), over).await.unwrap(),
                    false => store.revoke(&token_hash(1)).await.unwrap(),
                }
            })
            .await;
        assert_eq!(ended.into_iter().flatten().collect::<Vec<_>>(), [made], "expires: {expires}");
    }
}

pub(super) async fn expiry_is_exact_to_the_microsecond(fresh: &Fresh<Port>) {
    let over = Cutoffs { created: at(100), seen: at(200), ..NONE_OVER };
    let rows = [(99, 300), (100, 300), (101, 300), (150, 199), (150, 200), (150, 201), (50, 60)];
    let sessions = (1..).zip(rows).map(|(number, row)| used(number, user_id(1 + number % 2), row));
    let sessions: Vec<_> = sessions.collect();
    let is_over = |one: &Session| one.created_at <= at(100) || one.last_seen_at <= at(200);
    for expires in [true, false] {
        make(&*fresh.one, &sessions).await;
        for session in &sessions {
            fresh.finds(session, Some(session)).await;
        }
        for (cutoffs, expected) in [(NONE_OVER, false), (over, true), (over, false)] {
            let mut ended = Vec::new();
            if expires {
                for session in &sessions {
                    ended.extend(fresh.one.expire(&session.id, cutoffs).await.unwrap());
                }
            } else {
                ended = fresh.one.prune(cutoffs, HIGH_CAP).await.unwrap();
            }
            let all = sessions.iter().filter(|session| expected && is_over(session)).cloned();
            assert_eq!(by_age(ended), by_age(all.collect()), "expires: {expires}");
        }
        for session in &sessions {
            fresh.finds(session, Some(session).filter(|session| !is_over(session))).await;
            fresh.one.revoke(&session.id).await.unwrap();
        }
    }
}

pub(super) async fn concurrent_prunes_return_each_session_once(fresh: &Fresh<Port>) {
    let over: Vec<_> = (1..=100).map(|number| session(number, user_id(number), at(0))).collect();
    make(&*fresh.one, &over).await;
    let ended = Cutoffs { created: at(1), seen: at(1), ..NONE_OVER };
    let five = NonZeroU32::new(5).unwrap();
    let pruned =
        fresh.concurrently(move |_, store| async move { store.prune(ended, five).await.unwrap() }).await;
    let rest = fresh.one.prune(ended, HIGH_CAP).await.unwrap();
    assert_eq!(by_age([pruned.concat(), rest].concat()), by_age(over));
}

pub(super) async fn prune_removes_unreadable_sessions_beyond_its_limit(fresh: &Fresh<Port>) {
    let over: Vec<_> =
        (1..=12).map(|number| session(number, user_id(number), at(number.cast_signed()))).collect();
    let live = session(13, user_id(13), at(2000));
    make(&*fresh.one, &over).await;
    make(&*fresh.one, std::slice::from_ref(&live)).await;
    // Older than the others, between them, and youngest.
    let is_damaged =
        |session: &Session| (1..=5).chain([8, 12]).any(|number| session.id == token_hash(number));
    let (damaged, readable): (Vec<_>, Vec<_>) = over.into_iter().partition(is_damaged);
    if !fresh.damage(damaged.iter().map(|session| Damage::Session(session.id))).await {
        return;
    }
    let ended = Cutoffs { created: at(1000), ..NONE_OVER };
    let mut pruned = Vec::new();
    for expected in [2, 2, 1, 0] {
        let some = fresh.one.prune(ended, NonZeroU32::new(2).unwrap()).await.unwrap();
        assert_eq!(some.len(), expected, "fewer than the limit means that none is left");
        pruned.extend(some);
    }
    assert_eq!(by_age(pruned), readable);
    for session in damaged {
        fresh.finds(&session, None).await;
    }
    fresh.finds(&live, Some(&live)).await;
}

/// Tolerated clock difference of five minutes, in microseconds.
const SKEW: i64 = 300_000_000;

pub(super) async fn rewind_sets_only_times_beyond_the_horizon(fresh: &Fresh<Port>) {
    let now = 1000;
    let (near, far, year) = (now + SKEW, now + SKEW + 1, now + 31_536_000_000_000);
    let cases = [
        (1, (0, 10), (0, 10)),
        (2, (near, near), (near, near)),
        (3, (far, far), (now, now)),
        (4, (500, year), (500, now)),
        (5, (year, near), (now, near)),
    ];
    let dated = |number, times| used(number, user_id(1), times);
    make(&*fresh.one, &cases.map(|(number, before, _)| dated(number, before))).await;
    for expected in [3, 0] {
        assert_eq!(fresh.one.rewind(at(now), HIGH_CAP).await.unwrap(), expected);
    }
    let expected = cases.map(|(number, _, after)| dated(number, after)).to_vec();
    let listed = fresh.shows(async |store| store.of_user(user_id(1)).await.unwrap()).await;
    assert!(listed.is_sorted_by_key(|session| session.created_at), "{listed:?}");
    assert_eq!(by_age(listed), by_age(expected));
}

pub(super) async fn a_touch_only_advances_the_last_use(fresh: &Fresh<Port>) {
    let [touched, untouched, ended] =
        [(1, 0), (2, 1), (3, 2)].map(|(number, time)| session(number, user_id(1), at(time)));
    make(&*fresh.one, &[touched.clone(), untouched.clone(), ended.clone()]).await;
    fresh.one.revoke(&ended.id).await.unwrap();
    for (time, expected) in [(1, 1), (500, 500), (499, 500), (-1, 500), (500, 500), (501, 501)] {
        touch(&*fresh.one, &[(ended.id, at(time)), (touched.id, at(time)), (token_hash(4), at(time))]).await;
        let expected = used(1, user_id(1), (0, expected));
        // A use is no change, so a cache on the other node may hold an earlier one.
        assert_eq!(fresh.one.find(&touched.id).await.unwrap().as_ref(), Some(&expected));
        fresh.lists(user_id(1), &[expected, untouched.clone()]).await;
        for none in [&ended, &session(4, user_id(1), at(0))] {
            fresh.finds(none, None).await;
        }
    }
}

/// Each session twice, the later use first: the latest counts, not the last.
pub(super) async fn one_touch_accepts_the_maximum_number_of_uses(fresh: &Fresh<Port>) {
    let half = Uses::MAX_BATCH as u64 / 2;
    let all: Vec<_> =
        (1..=half).map(|number| session(number, user_id(1), at(number.cast_signed()))).collect();
    make_many(&*fresh.one, &all).await;
    let seen: Vec<_> =
        [2000, 1000].into_iter().flat_map(|time| all.iter().map(move |one| (one.id, at(time)))).collect();
    let [batch] = Uses::batches(&seen).collect::<Vec<_>>()[..] else { panic!("one write takes them all") };
    fresh.one.touch(batch).await.unwrap();
    let expected: Vec<_> = all.into_iter().map(|one| Session { last_seen_at: at(2000), ..one }).collect();
    fresh.lists(user_id(1), &expected).await;
}

pub(super) async fn the_latest_of_concurrent_touches_wins(fresh: &Fresh<Port>) {
    let made = session(1, user_id(1), at(0));
    make(&*fresh.one, std::slice::from_ref(&made)).await;
    fresh
        .concurrently(|number, store| async move {
            let time = at(i64::try_from((number * 7) % CALLERS).unwrap());
            store.touch(Uses::one(&(token_hash(1), time))).await.unwrap();
        })
        .await;
    let found = fresh.one.find(&made.id).await.unwrap().unwrap();
    assert_eq!(found.last_seen_at, at(i64::try_from(CALLERS).unwrap() - 1));
}

/// A store that keeps the last use beside the session must check it there, too.
pub(super) async fn every_operation_honours_recorded_uses(fresh: &Fresh<Port>) {
    let (store, user) = (&fresh.one, user_id(1));
    let all = [(10, 500), (20, 400), (30, 300), (40, 450)]
        .map(|times: (i64, i64)| used(times.0.unsigned_abs(), user, times));
    let [first, second, third, fourth] = all.clone();
    make(&**store, &all.clone().map(|used| Session { last_seen_at: used.created_at, ..used })).await;
    touch(&**store, &all.clone().map(|used| (used.id, used.last_seen_at))).await;
    fresh.lists(user, &all).await;
    // Ended by their creation, but not by their last use.
    let as_made = Cutoffs { seen: at(100), ..NONE_OVER };
    for store in [&fresh.one, &fresh.other] {
        assert_eq!(store.expire(&first.id, as_made).await.unwrap(), None);
        assert_eq!(store.prune(as_made, HIGH_CAP).await.unwrap(), []);
    }
    let (new, four) = (session(50, user, at(600)), NonZeroU32::new(4).unwrap());
    let gone = store.create(&new, four, Cutoffs { seen: at(300), ..NONE_OVER }).await.unwrap();
    assert_eq!(gone, [third], "the one that went unused for longest is over");
    assert_eq!(store.revoke(&second.id).await.unwrap(), Some(second));
    assert_eq!(store.expire(&first.id, Cutoffs { seen: at(500), ..NONE_OVER }).await.unwrap(), Some(first));
    assert_eq!(store.revoke_user(user).await.unwrap(), [fourth, new]);
}

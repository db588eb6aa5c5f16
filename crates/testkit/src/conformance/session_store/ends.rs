//! The end of sessions, and when they were used last.

use super::cap::{MANY, by_age, make, touch};
use crate::conformance::{
    Damage, Fresh,
    concurrency::CALLERS,
    sample::{NONE_OVER, at, session, token_hash, user_id},
};
use companion_domain::{
    port::SessionStore,
    session::{Cutoffs, Session, Uses},
};
use std::{collections::BTreeSet, num::NonZeroU32};

pub(super) async fn revoking_ends_one_session_and_can_be_repeated(fresh: &Fresh<dyn SessionStore>) {
    let sessions =
        [(1, 1), (2, 1), (3, 2), (4, 3)].map(|(number, user)| session(number, user_id(user), at(0)));
    let [ended, same_user, other_user, twice] = sessions.clone();
    make(&*fresh.one, &sessions).await;
    fresh.settle().await;
    // Asked for before, so that whoever remembers it is found out.
    assert_eq!(fresh.other.find(&ended.id).await.unwrap(), Some(ended.clone()));
    assert_eq!(fresh.one.revoke(&ended.id).await.unwrap(), Some(ended.clone()));
    assert_eq!(fresh.one.revoke(&twice.id).await.unwrap(), Some(twice.clone()));
    assert_eq!(fresh.other.revoke(&twice.id).await.unwrap(), None, "an outcome rests on no copy");
    fresh
        .through_both(async |store| {
            let found = store.find(&ended.id).await.unwrap();
            assert_eq!(found, None, "an ended session is ended for every reader");
            assert_eq!(store.revoke(&ended.id).await.unwrap(), None);
            assert_eq!(store.of_user(user_id(1)).await.unwrap(), std::slice::from_ref(&same_user));
            assert_eq!(store.of_user(user_id(2)).await.unwrap(), std::slice::from_ref(&other_user));
        })
        .await;
}

pub(super) async fn of_callers_at_once_exactly_one_revokes_a_session(fresh: &Fresh<dyn SessionStore>) {
    let made = session(1, user_id(1), at(0));
    make(&*fresh.one, std::slice::from_ref(&made)).await;
    let revoked =
        fresh.concurrently(|_, store| async move { store.revoke(&token_hash(1)).await.unwrap() }).await;
    assert_eq!(revoked.into_iter().flatten().collect::<Vec<_>>(), [made]);
}

pub(super) async fn a_session_expires_to_the_microsecond_and_not_while_it_lives(
    fresh: &Fresh<dyn SessionStore>,
) {
    let made = Session { last_seen_at: at(500), ..session(1, user_id(1), at(100)) };
    let other = session(2, user_id(1), at(0));
    make(&*fresh.one, &[made.clone(), other.clone()]).await;
    for lives in [NONE_OVER, Cutoffs { created: at(99), seen: at(499), ..NONE_OVER }] {
        assert_eq!(fresh.one.expire(&made.id, lives).await.unwrap(), None);
        fresh.settle().await;
        assert_eq!(fresh.other.find(&made.id).await.unwrap(), Some(made.clone()));
    }
    let idle = Cutoffs { seen: at(500), ..NONE_OVER };
    assert_eq!(fresh.one.expire(&made.id, idle).await.unwrap(), Some(made.clone()));
    fresh.settle().await;
    assert_eq!(fresh.other.find(&made.id).await.unwrap(), None);
    assert_eq!(fresh.one.expire(&made.id, idle).await.unwrap(), None);
    assert_eq!(
        fresh.one.find(&other.id).await.unwrap(),
        Some(other.clone()),
        "only the one that was asked about"
    );
    let old = Cutoffs { created: at(0), ..NONE_OVER };
    assert_eq!(fresh.one.expire(&other.id, old).await.unwrap(), Some(other));
}

pub(super) async fn of_callers_at_once_exactly_one_expires_a_session(fresh: &Fresh<dyn SessionStore>) {
    let made = session(1, user_id(1), at(0));
    make(&*fresh.one, std::slice::from_ref(&made)).await;
    let over = Cutoffs { created: at(0), ..NONE_OVER };
    let expired = fresh
        .concurrently(move |_, store| async move { store.expire(&token_hash(1), over).await.unwrap() })
        .await;
    assert_eq!(expired.into_iter().flatten().collect::<Vec<_>>(), [made]);
}

pub(super) async fn all_sessions_of_a_user_are_revoked_oldest_first_and_once(
    fresh: &Fresh<dyn SessionStore>,
) {
    let mine = [(1, 30), (2, 10), (3, 20)].map(|(number, time)| session(number, user_id(1), at(time)));
    let theirs = session(4, user_id(2), at(15));
    make(&*fresh.one, &mine).await;
    make(&*fresh.one, std::slice::from_ref(&theirs)).await;
    assert_eq!(fresh.one.revoke_user(user_id(1)).await.unwrap(), by_age(mine.to_vec()));
    fresh.settle().await;
    assert_eq!(fresh.other.of_user(user_id(1)).await.unwrap(), []);
    assert_eq!(fresh.one.revoke_user(user_id(1)).await.unwrap(), []);
    fresh.settle().await;
    for session in mine {
        assert_eq!(fresh.other.find(&session.id).await.unwrap(), None);
    }
    assert_eq!(fresh.one.find(&theirs.id).await.unwrap(), Some(theirs));
}

pub(super) async fn prune_takes_what_is_over_to_the_microsecond_and_nothing_else(
    fresh: &Fresh<dyn SessionStore>,
) {
    let ended = Cutoffs { created: at(100), seen: at(200), ..NONE_OVER };
    let cases = [
        (1, 99, 300, true),
        (2, 100, 300, true),
        (3, 101, 300, false),
        (4, 150, 199, true),
        (5, 150, 200, true),
        (6, 150, 201, false),
        (7, 50, 60, true),
    ];
    let sessions = cases.map(|(number, created, seen, over)| {
        let made = session(number, user_id(1 + number % 2), at(created));
        (Session { last_seen_at: at(seen), ..made }, over)
    });
    make(&*fresh.one, &sessions.clone().map(|(session, _)| session)).await;
    assert_eq!(fresh.one.prune(NONE_OVER, MANY).await.unwrap(), []);
    let over: Vec<_> =
        sessions.iter().filter(|(_, over)| *over).map(|(session, _)| session.clone()).collect();
    assert_eq!(by_age(fresh.one.prune(ended, MANY).await.unwrap()), by_age(over));
    assert_eq!(fresh.one.prune(ended, MANY).await.unwrap(), []);
    fresh.settle().await;
    for (session, over) in sessions {
        assert_eq!(fresh.other.find(&session.id).await.unwrap(), (!over).then_some(session));
    }
}

pub(super) async fn prune_takes_at_most_the_limit_and_the_rest_later(fresh: &Fresh<dyn SessionStore>) {
    let over: Vec<_> = (1..=7).map(|number| session(number, user_id(number), at(0))).collect();
    let live = session(8, user_id(1), at(2));
    make(&*fresh.one, &over).await;
    make(&*fresh.one, std::slice::from_ref(&live)).await;
    let ended = Cutoffs { created: at(1), seen: at(1), ..NONE_OVER };
    let mut pruned = Vec::new();
    for expected in [3, 3, 1, 0] {
        let some = fresh.one.prune(ended, NonZeroU32::new(3).unwrap()).await.unwrap();
        assert_eq!(some.len(), expected);
        pruned.extend(some);
    }
    assert_eq!(by_age(pruned), by_age(over));
    assert_eq!(fresh.one.find(&live.id).await.unwrap(), Some(live));
}

pub(super) async fn prune_takes_each_session_once_whoever_asks(fresh: &Fresh<dyn SessionStore>) {
    let over: Vec<_> = (1..=100).map(|number| session(number, user_id(number), at(0))).collect();
    make(&*fresh.one, &over).await;
    let ended = Cutoffs { created: at(1), seen: at(1), ..NONE_OVER };
    let five = NonZeroU32::new(5).unwrap();
    let pruned =
        fresh.concurrently(move |_, store| async move { store.prune(ended, five).await.unwrap() }).await;
    let rest = fresh.one.prune(ended, MANY).await.unwrap();
    assert_eq!(by_age([pruned.concat(), rest].concat()), by_age(over));
}

pub(super) async fn prune_removes_unreadable_sessions_and_is_not_cut_short_by_them(
    fresh: &Fresh<dyn SessionStore>,
) {
    let store = &fresh.one;
    let over: Vec<_> =
        (1..=12).map(|number| session(number, user_id(number), at(number.cast_signed()))).collect();
    let live = session(13, user_id(13), at(2000));
    make(&**store, &over).await;
    make(&**store, std::slice::from_ref(&live)).await;
    // By age they come before the others, between them, and last.
    let is_damaged =
        |session: &Session| (1..=5).chain([8, 12]).any(|number| session.id == token_hash(number));
    let (damaged, readable): (Vec<_>, Vec<_>) = over.into_iter().partition(is_damaged);
    for session in &damaged {
        if !fresh.damage(Damage::Session(session.id)).await {
            return;
        }
    }
    let ended = Cutoffs { created: at(1000), ..NONE_OVER };
    let mut pruned = Vec::new();
    for expected in [2, 2, 1, 0] {
        let some = store.prune(ended, NonZeroU32::new(2).unwrap()).await.unwrap();
        assert_eq!(some.len(), expected, "fewer than the limit means that none is left");
        pruned.extend(some);
    }
    assert_eq!(by_age(pruned), readable);
    fresh.settle().await;
    for session in damaged {
        assert_eq!(
            fresh.other.find(&session.id).await.unwrap(),
            None,
            "an unreadable session is removed too"
        );
    }
    assert_eq!(fresh.other.find(&live.id).await.unwrap(), Some(live));
}

/// Five minutes, in microseconds: so much clocks may differ.
const SKEW: i64 = 300_000_000;

pub(super) async fn times_beyond_the_horizon_are_set_to_now_and_no_others(fresh: &Fresh<dyn SessionStore>) {
    let now = 1000;
    let (near, far, year) = (now + SKEW, now + SKEW + 1, now + 31_536_000_000_000);
    let cases = [
        (1, (0, 10), (0, 10)),
        (2, (near, near), (near, near)),
        (3, (far, far), (now, now)),
        (4, (500, year), (500, now)),
        (5, (year, near), (now, near)),
    ];
    let dated = |number, (created, seen)| Session {
        last_seen_at: at(seen),
        ..session(number, user_id(1), at(created))
    };
    make(&*fresh.one, &cases.map(|(number, before, _)| dated(number, before))).await;
    assert_eq!(fresh.one.rewind(at(now), MANY).await.unwrap(), 3);
    assert_eq!(fresh.one.rewind(at(now), MANY).await.unwrap(), 0);
    fresh.settle().await;
    for (number, _, after) in cases {
        let expected = dated(number, after);
        assert_eq!(fresh.other.find(&expected.id).await.unwrap(), Some(expected), "session {number}");
    }
    let order: Vec<_> =
        fresh.one.of_user(user_id(1)).await.unwrap().iter().map(|session| session.created_at).collect();
    assert!(order.is_sorted(), "{order:?}");
}

pub(super) async fn rewind_takes_at_most_the_limit_and_the_rest_later(fresh: &Fresh<dyn SessionStore>) {
    let ahead: Vec<_> = (1..=7).map(|number| session(number, user_id(number), at(2 * SKEW))).collect();
    make(&*fresh.one, &ahead).await;
    for expected in [3, 3, 1, 0] {
        assert_eq!(fresh.one.rewind(at(0), NonZeroU32::new(3).unwrap()).await.unwrap(), expected);
    }
    let mut times = BTreeSet::new();
    for session in ahead {
        times.extend(fresh.one.find(&session.id).await.unwrap().map(|session| session.created_at));
    }
    assert_eq!(times, [at(0)].into());
}

pub(super) async fn a_touch_moves_the_last_use_forward_and_nothing_else(fresh: &Fresh<dyn SessionStore>) {
    let (touched, untouched) = (session(1, user_id(1), at(0)), session(2, user_id(1), at(1)));
    make(&*fresh.one, &[touched.clone(), untouched.clone()]).await;
    touch(&*fresh.one, &[(touched.id, at(1))]).await;
    let expected = Session { last_seen_at: at(1), ..touched };
    fresh.settle().await;
    assert_eq!(fresh.other.find(&touched.id).await.unwrap(), Some(expected.clone()));
    assert_eq!(fresh.other.of_user(user_id(1)).await.unwrap(), [expected, untouched]);
}

pub(super) async fn a_touch_never_moves_back(fresh: &Fresh<dyn SessionStore>) {
    let made = session(1, user_id(1), at(0));
    make(&*fresh.one, std::slice::from_ref(&made)).await;
    for (time, expected) in [(500, 500), (499, 500), (-1, 500), (500, 500), (501, 501)] {
        touch(&*fresh.one, &[(made.id, at(time))]).await;
        let found = fresh.one.find(&made.id).await.unwrap().unwrap();
        assert_eq!(found.last_seen_at, at(expected), "after a touch at {time}");
    }
}

pub(super) async fn a_touch_never_brings_a_session_back(fresh: &Fresh<dyn SessionStore>) {
    let (ended, live) = (session(1, user_id(1), at(0)), session(2, user_id(1), at(0)));
    make(&*fresh.one, &[ended.clone(), live.clone()]).await;
    fresh.one.revoke(&ended.id).await.unwrap();
    touch(&*fresh.one, &[(ended.id, at(9)), (live.id, at(9)), (token_hash(3), at(9))]).await;
    assert_eq!(fresh.one.find(&ended.id).await.unwrap(), None);
    assert_eq!(fresh.one.find(&token_hash(3)).await.unwrap(), None);
    let expected = Session { last_seen_at: at(9), ..live };
    assert_eq!(
        fresh.one.of_user(user_id(1)).await.unwrap(),
        [expected],
        "the others of the batch are served"
    );
}

pub(super) async fn one_touch_serves_many_sessions(fresh: &Fresh<dyn SessionStore>) {
    let sessions: Vec<_> = (1..=40).map(|number| session(number, user_id(number), at(0))).collect();
    make(&*fresh.one, &sessions).await;
    let time = |session: &Session| at(i64::try_from(session.user.get()).unwrap());
    // As many as there may be, each session several times over: only its latest counts.
    let seen: Vec<_> = (0..13)
        .flat_map(|back| sessions.iter().map(move |session| (session.id, time(session).before(micros(back)))))
        .take(Uses::MOST)
        .collect();
    let [all] = Uses::batches(&seen).collect::<Vec<_>>()[..] else { panic!("one write takes them all") };
    fresh.one.touch(all).await.unwrap();
    for session in sessions {
        let expected = Session { last_seen_at: time(&session), ..session };
        assert_eq!(fresh.one.find(&session.id).await.unwrap(), Some(expected));
    }
}

const fn micros(number: u64) -> std::time::Duration {
    std::time::Duration::from_micros(number)
}

pub(super) async fn of_touches_at_once_the_latest_counts(fresh: &Fresh<dyn SessionStore>) {
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

/// A store that keeps the last use beside the session has to look there, too.
pub(super) async fn uses_count_wherever_a_session_is_judged_or_returned(fresh: &Fresh<dyn SessionStore>) {
    let (store, user) = (&fresh.one, user_id(1));
    let all = [(10, 500), (20, 400), (30, 300), (40, 450)].map(|(made, used): (i64, i64)| Session {
        last_seen_at: at(used),
        ..session(made.unsigned_abs(), user, at(made))
    });
    let [first, second, third, fourth] = all.clone();
    make(&**store, &all.clone().map(|used| Session { last_seen_at: used.created_at, ..used })).await;
    touch(&**store, &all.clone().map(|used| (used.id, used.last_seen_at))).await;
    fresh.through_both(async |store| assert_eq!(store.of_user(user).await.unwrap(), all)).await;
    // Over as they were made, and not as they were used.
    let as_made = Cutoffs { seen: at(100), ..NONE_OVER };
    for store in [&fresh.one, &fresh.other] {
        assert_eq!(store.expire(&first.id, as_made).await.unwrap(), None);
        assert_eq!(store.prune(as_made, MANY).await.unwrap(), []);
    }
    let (new, four) = (session(50, user, at(600)), NonZeroU32::new(4).unwrap());
    let gone = store.create(&new, four, Cutoffs { seen: at(300), ..NONE_OVER }).await.unwrap();
    assert_eq!(gone, [third], "the one that went unused for longest is over");
    assert_eq!(store.revoke(&second.id).await.unwrap(), Some(second));
    assert_eq!(store.expire(&first.id, Cutoffs { seen: at(500), ..NONE_OVER }).await.unwrap(), Some(first));
    assert_eq!(store.revoke_user(user).await.unwrap(), [fourth, new]);
}

//! When a session was last used.

use super::common::{MANY, make, touch};
use crate::conformance::{
    Fresh,
    concurrency::CALLERS,
    sample::{NONE_OVER, at, session, token_hash, user_id},
};
use companion_domain::{
    port::SessionStore,
    session::{Cutoffs, Session, Uses},
};
use std::num::NonZeroU32;

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

//! How many sessions a user may have, and which of them go.

use super::common::{MANY, by_age, make};
use crate::conformance::{
    Fresh,
    sample::{NONE_OVER, TEN, at, session, user_id},
};
use companion_domain::{
    port::SessionStore,
    session::{Cutoffs, Session},
};
use std::num::NonZeroU32;

/// Sessions of user 1 by number, made so many seconds after the start, in an order that is not that of the numbers.
fn ten_sessions() -> Vec<Session> {
    [4, 9, 1, 7, 10, 2, 8, 3, 6, 5]
        .map(|age: u8| session(age.into(), user_id(1), seconds(age.into())))
        .to_vec()
}

fn seconds(number: i64) -> companion_domain::model::Timestamp {
    at(number * 1_000_000)
}

pub(super) async fn the_eleventh_session_takes_the_oldest_away(fresh: &Fresh<dyn SessionStore>) {
    let store = &fresh.one;
    let ten = ten_sessions();
    for session in &ten {
        assert_eq!(store.create(session, TEN, NONE_OVER).await.unwrap(), [], "there is room for ten");
    }
    let eleventh = session(11, user_id(1), seconds(11));
    let oldest = session(1, user_id(1), seconds(1));
    assert_eq!(store.create(&eleventh, TEN, NONE_OVER).await.unwrap(), std::slice::from_ref(&oldest));
    assert_eq!(store.find(&oldest.id).await.unwrap(), None);
    let left: Vec<_> = ten.into_iter().filter(|session| *session != oldest).chain([eleventh]).collect();
    assert_eq!(store.of_user(user_id(1)).await.unwrap(), by_age(left));
}

pub(super) async fn sessions_that_are_over_go_before_older_live_ones(fresh: &Fresh<dyn SessionStore>) {
    let store = &fresh.one;
    let ten: Vec<_> = ten_sessions()
        .into_iter()
        .map(|session| Session {
            last_seen_at: if session.created_at == seconds(6) { session.created_at } else { seconds(100) },
            ..session
        })
        .collect();
    make(&**store, &ten).await;
    let idle = session(6, user_id(1), seconds(6));
    let ended = Cutoffs { seen: seconds(50), ..NONE_OVER };
    assert_eq!(store.create(&session(11, user_id(1), seconds(101)), TEN, ended).await.unwrap(), [idle]);
    let oldest_live = Session { last_seen_at: seconds(100), ..session(1, user_id(1), seconds(1)) };
    assert_eq!(
        store.create(&session(12, user_id(1), seconds(102)), TEN, ended).await.unwrap(),
        [oldest_live]
    );
    assert_eq!(store.of_user(user_id(1)).await.unwrap().len(), 10);
}

pub(super) async fn sessions_that_are_over_stay_while_there_is_room(fresh: &Fresh<dyn SessionStore>) {
    let store = &fresh.one;
    let sessions = [1, 2, 3].map(|number: u8| session(number.into(), user_id(1), seconds(number.into())));
    let all_over = Cutoffs { created: seconds(60), seen: seconds(60), ..NONE_OVER };
    make(&**store, &sessions).await;
    let new = session(4, user_id(1), seconds(61));
    assert_eq!(store.create(&new, NonZeroU32::new(4).unwrap(), all_over).await.unwrap(), []);
    assert_eq!(store.of_user(user_id(1)).await.unwrap().len(), 4);
}

/// They were made before a clock was set back, so they are older than all that were made since.
pub(super) async fn sessions_dated_ahead_go_before_those_that_were_made_since(
    fresh: &Fresh<dyn SessionStore>,
) {
    let store = &fresh.one;
    let cap = NonZeroU32::new(4).unwrap();
    let made = |number: u64, second| session(number, user_id(1), seconds(second));
    let over = Session { last_seen_at: seconds(0), ..made(4, 9) };
    let [ahead, old, skewed] = [made(1, 5000), made(2, 8), made(3, 309)];
    make(&**store, &[ahead.clone(), old.clone(), skewed.clone(), over.clone()]).await;
    let ended = Cutoffs { seen: seconds(1), ahead: seconds(310), ..NONE_OVER };
    for (new, gone) in [(made(5, 10), over), (made(6, 10), ahead), (made(7, 10), old)] {
        assert_eq!(store.create(&new, cap, ended).await.unwrap(), [gone]);
    }
    assert_eq!(store.find(&skewed.id).await.unwrap(), Some(skewed), "clocks differ by as much");
}

pub(super) async fn when_a_session_is_over_is_decided_to_the_microsecond_at_the_cap(
    fresh: &Fresh<dyn SessionStore>,
) {
    let cap = NonZeroU32::new(2).unwrap();
    // For both limits: the younger of two sessions is over at the cutoff exactly, and then goes; a microsecond
    // later it is not, and the older one goes.
    for (user, made, cutoff, younger_goes) in [
        (1, [(10, 500), (20, 100)], Cutoffs { seen: at(100), ..NONE_OVER }, true),
        (2, [(10, 500), (20, 101)], Cutoffs { seen: at(100), ..NONE_OVER }, false),
        (3, [(20, 500), (19, 500)], Cutoffs { created: at(19), ..NONE_OVER }, true),
        (4, [(20, 500), (21, 500)], Cutoffs { created: at(19), ..NONE_OVER }, false),
    ] {
        let [one, two] = made.map(|(created, seen): (i64, i64)| Session {
            last_seen_at: at(seen),
            ..session(user * 1000 + created.unsigned_abs(), user_id(user), at(created))
        });
        make(&*fresh.one, &[one.clone(), two.clone()]).await;
        let new = session(user, user_id(user), at(1000));
        let expected = if younger_goes { two } else { one };
        assert_eq!(fresh.one.create(&new, cap, cutoff).await.unwrap(), [expected], "user {user}");
    }
}

pub(super) async fn a_lowered_cap_takes_away_all_that_exceeds_it(fresh: &Fresh<dyn SessionStore>) {
    let store = &fresh.one;
    make(&**store, &ten_sessions()).await;
    let new = session(11, user_id(1), seconds(11));
    let gone = store.create(&new, NonZeroU32::new(3).unwrap(), NONE_OVER).await.unwrap();
    let mut left = by_age(ten_sessions());
    let oldest: Vec<_> = left.drain(..8).collect();
    assert_eq!(by_age(gone), oldest);
    assert_eq!(store.of_user(user_id(1)).await.unwrap(), [left, vec![new]].concat());
}

pub(super) async fn a_cap_of_one_leaves_the_new_session_alone(fresh: &Fresh<dyn SessionStore>) {
    let store = &fresh.one;
    let [first, second] = [1_u8, 2].map(|number| session(number.into(), user_id(1), seconds(number.into())));
    assert_eq!(store.create(&first, NonZeroU32::MIN, NONE_OVER).await.unwrap(), []);
    assert_eq!(store.create(&second, NonZeroU32::MIN, NONE_OVER).await.unwrap(), [first]);
    assert_eq!(store.of_user(user_id(1)).await.unwrap(), [second]);
}

pub(super) async fn a_new_session_stays_though_others_were_made_in_the_same_moment(
    fresh: &Fresh<dyn SessionStore>,
) {
    // Whatever decides between equals, an id that sorts first, one that sorts last, or the order of arrival.
    for number in 1..=20 {
        let new = session(number, user_id(1), at(0));
        fresh.one.create(&new, NonZeroU32::new(2).unwrap(), NONE_OVER).await.unwrap();
        assert_eq!(fresh.one.find(&new.id).await.unwrap(), Some(new), "session {number}");
        assert_eq!(fresh.one.of_user(user_id(1)).await.unwrap().len(), if number == 1 { 1 } else { 2 });
    }
}

pub(super) async fn the_cap_counts_each_user_alone(fresh: &Fresh<dyn SessionStore>) {
    let store = &fresh.one;
    make(&**store, &ten_sessions()).await;
    for number in 21..=30 {
        assert_eq!(store.create(&session(number, user_id(2), at(0)), TEN, NONE_OVER).await.unwrap(), []);
    }
    let gone = store.create(&session(31, user_id(2), seconds(1)), TEN, NONE_OVER).await.unwrap();
    assert!(matches!(&gone[..], [session] if session.user == user_id(2)));
    assert_eq!(store.of_user(user_id(1)).await.unwrap(), by_age(ten_sessions()));
}

pub(super) async fn callers_at_once_never_exceed_the_cap(fresh: &Fresh<dyn SessionStore>) {
    let made = |number: u64| session(number, user_id(1), at(i64::try_from(number).unwrap()));
    let gone = fresh
        .concurrently(move |number, store| async move {
            store.create(&made(number), TEN, NONE_OVER).await.unwrap()
        })
        .await;
    let left = fresh.one.of_user(user_id(1)).await.unwrap();
    assert_eq!(left.len(), 10);
    let all = by_age([gone.concat(), left].concat());
    assert_eq!(all, (0..32).map(made).collect::<Vec<_>>(), "each went once, or is still there");
    assert_eq!(fresh.one.prune(NONE_OVER, MANY).await.unwrap(), []);
}

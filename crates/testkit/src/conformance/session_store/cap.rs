//! The cap, very many sessions, and writes that are given up.

use crate::conformance::{
    Fresh,
    concurrency::{GivenUp, all_of},
    sample::{NONE_OVER, TEN, at, session, user_id},
};
use companion_domain::{
    model::{Timestamp, UserId},
    port::SessionStore,
    session::{Cutoffs, Session, TokenHash, Uses},
};
use std::{collections::HashSet, num::NonZeroU32, sync::Arc};

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

/// More than a page or a batch. Each new one makes a store count those before it, so thousands would take their time.
const MANY_OF_ONE: u64 = 520;

pub(super) async fn a_user_with_very_many_sessions_is_served_in_full(fresh: &Fresh<dyn SessionStore>) {
    let (store, user) = (&fresh.one, user_id(1));
    let all: Vec<_> =
        (1..=MANY_OF_ONE).map(|number| session(number, user, at(i64::try_from(number).unwrap()))).collect();
    make_many(&**store, &all).await;
    fresh.through_both(async |store| assert_eq!(store.of_user(user).await.unwrap(), all)).await;
    // The new one has a place as well.
    let (new, room) = (session(MANY_OF_ONE + 1, user, at(i64::MAX >> 16)), 250);
    let cap = NonZeroU32::new(u32::try_from(room).unwrap()).unwrap();
    let mut left = all;
    let gone: Vec<_> = left.drain(..=left.len() - room).collect();
    left.push(new.clone());
    assert_eq!(by_age(store.create(&new, cap, NONE_OVER).await.unwrap()), gone);
    fresh.through_both(async |store| assert_eq!(store.of_user(user).await.unwrap(), left)).await;
    assert_eq!(store.revoke_user(user).await.unwrap(), left);
    fresh.through_both(async |store| assert_eq!(store.of_user(user).await.unwrap(), [])).await;
}

pub(super) async fn a_limit_is_reached_while_there_is_enough(fresh: &Fresh<dyn SessionStore>) {
    const HOUR: i64 = 3_600_000_000;
    let (store, limit) = (&fresh.one, NonZeroU32::new(500).unwrap());
    let all: Vec<_> = (1..=700).map(|number| session(number, user_id(number), at(HOUR))).collect();
    make_many(&**store, &all).await;
    for expected in [500, 200, 0] {
        assert_eq!(store.rewind(at(0), limit).await.unwrap(), expected, "those whose time lies ahead");
    }
    let used: Vec<_> = all.iter().map(|session| (session.id, at(5))).collect();
    for batch in Uses::batches(&used) {
        store.touch(batch).await.unwrap();
    }
    let ended = Cutoffs { created: at(0), ..NONE_OVER };
    let mut pruned = Vec::new();
    for expected in [500, 200, 0] {
        let some = store.prune(ended, limit).await.unwrap();
        assert_eq!(some.len(), expected, "those that are over");
        pruned.extend(some);
    }
    let dated = |made: Session| Session { created_at: at(0), last_seen_at: at(5), ..made };
    assert_eq!(by_age(pruned), by_age(all.into_iter().map(dated).collect()), "each as it was in the end");
}

pub(super) async fn one_touch_serves_as_many_as_it_may_name(fresh: &Fresh<dyn SessionStore>) {
    let all: Vec<_> = (1..=Uses::MOST as u64).map(|number| session(number, user_id(1), at(0))).collect();
    make_many(&*fresh.one, &all).await;
    let used: Vec<_> = (1..).zip(&all).map(|(micros, session)| (session.id, at(micros))).collect();
    let [batch] = Uses::batches(&used).collect::<Vec<_>>()[..] else { panic!("one write takes them all") };
    fresh.one.touch(batch).await.unwrap();
    fresh
        .through_both(async |store| {
            let found = store.of_user(user_id(1)).await.unwrap();
            let found: HashSet<_> =
                found.into_iter().map(|session| (session.id, session.last_seen_at)).collect();
            assert_eq!(found, used.iter().copied().collect());
        })
        .await;
    assert_eq!(fresh.one.prune(NONE_OVER, MANY).await.unwrap(), []);
}

const THREE: NonZeroU32 = NonZeroU32::new(3).unwrap();
/// Whom no write is about.
const NOBODY: u64 = 9999;

fn user(number: u64) -> UserId {
    user_id(number + 1)
}

/// The `index`th session of the `number`th user, as it was made.
fn made(number: u64, index: u64) -> Session {
    session(10 * number + index, user(number), at(i64::try_from(index).unwrap()))
}

/// Makes the first three of a user.
async fn three(store: &Arc<dyn SessionStore>, number: u64) {
    make(&**store, &[1, 2, 3].map(|index| made(number, index))).await;
}

/// What a user's sessions are and when they were used, whoever the user is.
async fn left(store: &Arc<dyn SessionStore>, number: u64) -> Vec<(Timestamp, Timestamp)> {
    let sessions = store.of_user(user(number)).await.unwrap();
    let mut found = Vec::new();
    for session in &sessions {
        found.extend(store.find(&session.id).await.unwrap());
    }
    assert_eq!(found, sessions, "whoever lists sessions can find them");
    sessions.iter().map(|session| (session.created_at, session.last_seen_at)).collect()
}

async fn further(store: &Arc<dyn SessionStore>) {
    store.revoke_user(user_id(NOBODY)).await.unwrap();
    make(&**store, &[session(NOBODY, user_id(NOBODY), at(i64::MAX >> 16))]).await;
}

/// Gives a write up that is about the sessions of one user, from the user `first` on.
async fn check(
    fresh: &Fresh<dyn SessionStore>,
    first: u64,
    what: &'static str,
    write: impl AsyncFn(&Arc<dyn SessionStore>, u64),
) {
    let given_up = GivenUp {
        fresh,
        what,
        ready: async |store: &Arc<dyn SessionStore>, number| three(store, first + number).await,
        write: async |store: &Arc<dyn SessionStore>, number| write(store, first + number).await,
        look: async |store: &Arc<dyn SessionStore>, number| left(store, first + number).await,
        further,
    };
    given_up.leaves_all_or_nothing().await;
}

pub(super) async fn a_write_that_is_given_up_is_made_whole_or_not_at_all(fresh: &Fresh<dyn SessionStore>) {
    check(fresh, 10_000, "a session in the place of another", async |store, number| {
        store.create(&made(number, 4), THREE, NONE_OVER).await.unwrap();
    })
    .await;
    check(fresh, 20_000, "a touch", async |store, number| {
        touch(&**store, &[1, 2, 3].map(|index| (made(number, index).id, at(50)))).await;
    })
    .await;
    check(fresh, 30_000, "a revocation", async |store, number| {
        store.revoke_user(user(number)).await.unwrap();
    })
    .await;
    check(fresh, 40_000, "a prune", async |store, _| {
        store.prune(Cutoffs { created: at(1000), ..NONE_OVER }, MANY).await.unwrap();
    })
    .await;
    check(fresh, 50_000, "a rewind", async |store, _| {
        store.rewind(at(-3_600_000_000), MANY).await.unwrap();
    })
    .await;
}

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

//! The cap, very many sessions, and cancelled writes.

use super::{Port, used};
use crate::conformance::{
    Fresh,
    concurrency::{all_of, cancelled},
    sample::{NONE_OVER, TEN, at, session, user_id},
};
use companion_domain::{
    model::{Timestamp, UserId},
    port::SessionStore,
    session::{Cutoffs, Session, TokenHash, Uses},
};
use std::{num::NonZeroU32, sync::Arc};

/// Each row creates sessions of its own user, identified by their creation times, and signs that user in once more.
pub(super) async fn the_cap_evicts_ended_sessions_then_the_oldest(fresh: &Fresh<Port>) {
    let ten = [4, 9, 1, 7, 10, 2, 8, 3, 6, 5].map(|made: i64| (made, made)).to_vec();
    let (idle, old) = (Cutoffs { seen: at(100), ..NONE_OVER }, Cutoffs { created: at(19), ..NONE_OVER });
    // Created before a clock was set back, created since, created by a clock at the tolerance, and idle.
    let dated = vec![(5000, 5000), (8, 500), (309, 500), (9, 0)];
    let ahead = Cutoffs { seen: at(1), ahead: at(310), ..NONE_OVER };
    let mut stay = Vec::new();
    for (row, (made, cap, ended, evicted)) in [
        (ten.clone(), 11, NONE_OVER, vec![]),
        (ten.clone(), 10, NONE_OVER, vec![1]),
        (ten, 3, NONE_OVER, (1..=8).collect()),
        (vec![(1, 1)], 1, NONE_OVER, vec![1]),
        (vec![(1, 1), (2, 2), (3, 3)], 4, Cutoffs { created: at(60), ..idle }, vec![]),
        // The younger of two has ended exactly at the cutoff, and has not a microsecond after it.
        (vec![(10, 500), (20, 100)], 2, idle, vec![20]),
        (vec![(10, 500), (20, 101)], 2, idle, vec![10]),
        (vec![(20, 500), (19, 500)], 2, old, vec![19]),
        (vec![(20, 500), (21, 500)], 2, old, vec![20]),
        (dated.clone(), 4, ahead, vec![9]),
        (dated.clone(), 3, ahead, vec![9, 5000]),
        (dated, 2, ahead, vec![8, 9, 5000]),
    ]
    .into_iter()
    // A new session goes for none of the same time, whatever breaks the tie: the ids differ by row.
    .chain((0..8).map(|_| (vec![(10_001, 10_001)], 1, NONE_OVER, vec![10_001])))
    .enumerate()
    {
        let (row, user) = (row as u64 * 10_000, user_id(row as u64 + 1));
        let made: Vec<_> = made.iter().map(|one| used(row + one.0.unsigned_abs(), user, *one)).collect();
        make(&*fresh.one, &made).await;
        let new = session(row, user, at(10_001));
        let gone = fresh.one.create(&new, NonZeroU32::new(cap).unwrap(), ended).await.unwrap();
        let is_evicted = |one: &Session| evicted.iter().any(|made| one.created_at == at(*made));
        let (expected, left): (Vec<_>, Vec<_>) = by_age(made).into_iter().partition(is_evicted);
        assert_eq!(by_age(gone), expected, "{user}");
        stay.push((user, by_age([left, vec![new]].concat())));
    }
    for (user, left) in stay {
        fresh.lists(user, &left).await;
    }
}

pub(super) async fn concurrent_callers_never_exceed_the_cap(fresh: &Fresh<Port>) {
    let made = |number: u64| session(number, user_id(1), at(number.cast_signed()));
    let gone = fresh
        .concurrently(move |number, store| async move {
            store.create(&made(number), TEN, NONE_OVER).await.unwrap()
        })
        .await;
    let left = fresh.one.of_user(user_id(1)).await.unwrap();
    assert_eq!(left.len(), 10);
    let all = by_age([gone.concat(), left].concat());
    assert_eq!(all, (0..32).map(made).collect::<Vec<_>>(), "each went once, or is still there");
    assert_eq!(fresh.one.prune(NONE_OVER, HIGH_CAP).await.unwrap(), []);
}

/// More than a page or a batch. Each new one makes a store count the others, so thousands would take long.
const MANY_SESSIONS: u64 = 303;

pub(super) async fn handles_very_many_sessions_of_a_user(fresh: &Fresh<Port>) {
    let (store, user) = (&fresh.one, user_id(1));
    let all: Vec<_> =
        (1..=MANY_SESSIONS).map(|number| session(number, user, at(number.cast_signed()))).collect();
    make_many(&**store, &all).await;
    fresh.lists(user, &all).await;
    // The new one needs a place as well.
    let (new, room) = (session(MANY_SESSIONS + 1, user, at(i64::MAX >> 16)), 150);
    let cap = NonZeroU32::new(u32::try_from(room).unwrap()).unwrap();
    let mut left = all;
    let gone: Vec<_> = left.drain(..=left.len() - room).collect();
    left.push(new.clone());
    assert_eq!(by_age(store.create(&new, cap, NONE_OVER).await.unwrap()), gone);
    fresh.lists(user, &left).await;
    assert_eq!(store.revoke_user(user).await.unwrap(), left);
    fresh.lists(user, &[]).await;
    assert_eq!(store.revoke_user(user).await.unwrap(), []);
    for session in left {
        assert_eq!(fresh.other.find(&session.id).await.unwrap(), None);
    }
}

pub(super) async fn prune_fills_its_limit_while_sessions_remain(fresh: &Fresh<Port>) {
    const HOUR: i64 = 3_600_000_000;
    let (store, limit) = (&fresh.one, NonZeroU32::new(500).unwrap());
    let all: Vec<_> = (1..=700).map(|number| session(number, user_id(number), at(HOUR))).collect();
    make_many(&**store, &all).await;
    for expected in [500, 200, 0] {
        assert_eq!(store.rewind(at(0), limit).await.unwrap(), expected, "those whose time lies ahead");
    }
    touch(&**store, &all.iter().map(|session| (session.id, at(5))).collect::<Vec<_>>()).await;
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

/// A user that no write concerns.
const UNRELATED_USER: u64 = 9999;

fn user(number: u64) -> UserId {
    user_id(number + 1)
}

/// Returns the `index`th session of the `number`th user, as created.
fn made(number: u64, index: u64) -> Session {
    session(10 * number + index, user(number), at(index.cast_signed()))
}

/// Cancels a write about the sessions of one user who has three, from the user `first` on.
async fn check(fresh: &Fresh<Port>, first: u64, what: &'static str, write: impl AsyncFn(&Arc<Port>, u64)) {
    let ready = async |store: &Arc<Port>, number: u64| {
        make(&**store, &[1, 2, 3].map(|index| made(first + number, index))).await;
    };
    let write = async |store: &Arc<Port>, number: u64| write(store, first + number).await;
    // Creation and last use, which are comparable between users.
    let look = async |store: &Arc<Port>, number: u64| {
        let sessions = store.of_user(user(first + number)).await.unwrap();
        let mut found = Vec::new();
        for session in &sessions {
            found.extend(store.find(&session.id).await.unwrap());
        }
        assert_eq!(found, sessions, "listed sessions can be found");
        sessions.iter().map(|session| (session.created_at, session.last_seen_at)).collect::<Vec<_>>()
    };
    let further = async |store: &Arc<Port>| {
        store.revoke_user(user_id(UNRELATED_USER)).await.unwrap();
        make(&**store, &[session(UNRELATED_USER, user_id(UNRELATED_USER), at(i64::MAX >> 16))]).await;
    };
    cancelled(fresh, what, ready, write, look, further).await;
}

pub(super) async fn a_cancelled_write_is_complete_or_absent(fresh: &Fresh<Port>) {
    check(fresh, 10_000, "a session in the place of another", async |store, number| {
        store.create(&made(number, 4), NonZeroU32::new(3).unwrap(), NONE_OVER).await.unwrap();
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
        store.prune(Cutoffs { created: at(1000), ..NONE_OVER }, HIGH_CAP).await.unwrap();
    })
    .await;
    check(fresh, 50_000, "a rewind", async |store, _| {
        store.rewind(at(-3_600_000_000), HIGH_CAP).await.unwrap();
    })
    .await;
}

/// More than any test creates for one user.
pub(super) const HIGH_CAP: NonZeroU32 = NonZeroU32::new(5000).unwrap();

/// Creates sessions below the cap.
pub(super) async fn make(store: &dyn SessionStore, sessions: &[Session]) {
    for session in sessions {
        assert_eq!(store.create(session, HIGH_CAP, NONE_OVER).await.unwrap(), []);
    }
}

/// Like [`make`], with concurrency, for large numbers.
pub(super) async fn make_many(store: &dyn SessionStore, sessions: &[Session]) {
    let made = all_of(sessions.iter().map(|session| store.create(session, HIGH_CAP, NONE_OVER))).await;
    assert!(made.into_iter().all(|gone| gone.unwrap().is_empty()), "there is room for all");
}

/// Records uses in batches.
pub(super) async fn touch(store: &dyn SessionStore, used: &[(TokenHash, Timestamp)]) {
    for batch in Uses::batches(used) {
        store.touch(batch).await.unwrap();
    }
}

pub(super) fn by_age(mut sessions: Vec<Session>) -> Vec<Session> {
    sessions.sort_by_key(|session| (session.created_at, session.id));
    sessions
}

//! The contract of a [`SessionStore`]: the cap, ends, uses, very many sessions, and cancelled writes.

use super::{
    Fresh, Stores,
    concurrency::{CALLERS, cancelled},
    prepared::add_sessions,
    sample::{BEYOND_SIGNED, NONE_ENDED, TEN, at, session, token_hash, user_id},
};
use companion_domain::{
    change::Key,
    model::{Timestamp, UserId},
    port::{GrantContent, SessionStore, StoreErrorKind},
    session::{Cutoffs, Session, TokenHash, Uses},
};
use std::{num::NonZeroU32, sync::Arc};

suite! {
    /// Generates one test per behaviour of a `SessionStore`. It needs all storage ports.
    session_store_conformance($): session_store, Stores;
    sessions_are_found_counted_and_listed_by_user_oldest_first,
    a_cached_session_equals_the_stored_one,
    every_byte_of_an_id_counts,
    an_unreadable_session_is_corrupt_and_can_be_ended,
    the_cap_evicts_ended_sessions_then_the_oldest,
    concurrent_callers_never_exceed_the_cap,
    handles_very_many_sessions_of_a_user,
    prune_fills_its_limit_while_sessions_remain,
    a_cancelled_write_is_complete_or_absent,
    a_touch_only_advances_the_last_use,
    one_touch_accepts_the_maximum_number_of_uses,
    the_latest_of_concurrent_touches_wins,
    revoke_ends_one_session_and_is_idempotent,
    expiry_is_exact_to_the_microsecond,
    exactly_one_concurrent_caller_ends_a_session,
    rewind_sets_only_times_beyond_the_horizon,
    every_operation_honours_recorded_uses,
    prune_removes_unreadable_sessions_beyond_its_limit,
}

impl Fresh<Stores> {
    /// Asserts that both handles list exactly these sessions of a user.
    async fn lists(&self, user: UserId, expected: &[Session]) {
        assert_eq!(self.shows(async |stores| stores.sessions.of_user(user).await.unwrap()).await, expected);
    }

    /// Asserts what both handles find under the id of a session.
    async fn finds(&self, session: &Session, expected: Option<&Session>) {
        let find = async |stores: &Arc<Stores>| stores.sessions.find(&session.id).await.unwrap();
        assert_eq!(self.shows(find).await.as_ref(), expected);
    }
}

/// Returns a session with these times of creation and last use, in microseconds.
fn used(number: u64, user: UserId, (made, seen): (i64, i64)) -> Session {
    Session { last_seen_at: at(seen), ..session(number, user, at(made)) }
}

/// More than any test creates for one user.
const HIGH_CAP: NonZeroU32 = NonZeroU32::new(5000).unwrap();

/// Begins a session. Returns the evicted ones.
async fn begin(stores: &Stores, session: &Session, cap: NonZeroU32, ended: Cutoffs) -> Vec<Session> {
    stores.sign_ins.begin(session, cap, ended, &GrantContent::default()).await.unwrap()
}

/// Begins sessions below the cap.
async fn make(stores: &Stores, sessions: &[Session]) {
    for session in sessions {
        assert_eq!(begin(stores, session, HIGH_CAP, NONE_ENDED).await, []);
    }
}

/// Records uses in batches.
async fn touch(store: &dyn SessionStore, used: &[(TokenHash, Timestamp)]) {
    for batch in Uses::batches(used) {
        store.touch(batch).await.unwrap();
    }
}

fn by_age(mut sessions: Vec<Session>) -> Vec<Session> {
    sessions.sort_by_key(|session| (session.created_at, session.id));
    sessions
}

async fn sessions_are_found_counted_and_listed_by_user_oldest_first(fresh: &Fresh<Stores>) {
    let users = [1, 2, BEYOND_SIGNED - 1, BEYOND_SIGNED, BEYOND_SIGNED + 1, u64::MAX].map(user_id);
    let times = [(123_457, 987_654_321), (100, 100), (900, 900), (-9_000_000_000, 5), (300, 300)];
    let of = |(place, user): (u64, UserId)| {
        let numbers = 10 * place + 1..;
        numbers.zip(times).map(|(number, times)| used(number, user, times)).collect::<Vec<_>>()
    };
    let mut left: u64 = 0;
    let counts = async |expected: u64| {
        // Counting is optional.
        let count = fresh.shows(async |stores| stores.sessions.count().await.unwrap()).await;
        assert!(count.is_none_or(|count| count == expected), "{count:?}, not {expected}");
    };
    counts(0).await;
    for user in (0..).zip(users) {
        fresh.lists(user.1, &[]).await;
        make(&fresh.one, &of(user)).await;
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
        assert_eq!(fresh.one.sessions.revoke_user(user.1).await.unwrap(), expected);
        fresh.lists(user.1, &[]).await;
        left -= times.len() as u64;
        counts(left).await;
    }
}

async fn a_cached_session_equals_the_stored_one(fresh: &Fresh<Stores>) {
    let made = session(1, user_id(1), at(5));
    let check = async || {
        fresh
            .through_both(async |stores| {
                let store = &stores.sessions;
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
    make(&fresh.one, std::slice::from_ref(&made)).await;
    check().await;
    touch(&*fresh.one.sessions, &[(made.id, at(50))]).await;
    check().await;
    fresh.one.sessions.revoke(&made.id).await.unwrap();
    check().await;
}

async fn every_byte_of_an_id_counts(fresh: &Fresh<Stores>) {
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
    make(&fresh.one, &sessions).await;
    for session in &sessions {
        assert_eq!(fresh.one.sessions.find(&session.id).await.unwrap(), Some(session.clone()));
    }
    // An operation on one of them affects no other.
    let (over, used) = (Cutoffs { created: at(100), ..NONE_ENDED }, at(50));
    let [expired, revoked, touched] = [id(7), id(31), id(32)];
    assert_eq!(
        fresh.one.sessions.expire(&expired, over).await.unwrap().map(|session| session.id),
        Some(expired)
    );
    assert_eq!(fresh.one.sessions.revoke(&revoked).await.unwrap().map(|session| session.id), Some(revoked));
    touch(&*fresh.one.sessions, &[(touched, used)]).await;
    let left = sessions.into_iter().filter(|session| ![expired, revoked].contains(&session.id));
    let seen = |one: &Session| if one.id == touched { used } else { one.last_seen_at };
    let left: Vec<_> = left.map(|session| Session { last_seen_at: seen(&session), ..session }).collect();
    fresh.lists(user_id(1), &left).await;
}

async fn an_unreadable_session_is_corrupt_and_can_be_ended(fresh: &Fresh<Stores>) {
    let store = &fresh.one.sessions;
    let all = [1, 2, 3, 4].map(|number| session(number, user_id(number), at(0)));
    let [revoked, pruned, ended, sound] = all.clone();
    make(&fresh.one, &all).await;
    if !fresh.damage([&revoked, &pruned, &ended].map(|session| Key::Session(session.id))).await {
        return;
    }
    let find = async |stores: &Arc<Stores>| stores.sessions.find(&revoked.id).await;
    let found = fresh.shows(async |stores| find(stores).await.map_err(|error| error.kind)).await;
    assert_eq!(found, Err(StoreErrorKind::Corrupt), "an unreadable session opens nothing");
    fresh.lists(revoked.user, &[]).await;
    fresh.finds(&sound, Some(&sound)).await;
    assert_eq!(store.revoke(&revoked.id).await.unwrap(), None);
    fresh.finds(&revoked, None).await;
    let over = Cutoffs { created: at(0), ..NONE_ENDED };
    assert_eq!(store.prune(over, HIGH_CAP).await.unwrap(), [sound], "the rest is pruned as ever");
    make(&fresh.one, &[session(5, ended.user, at(1))]).await;
    assert_eq!(store.revoke_user(ended.user).await.unwrap().len(), 1);
}

/// Each row creates sessions of its own user, identified by their creation times, and signs that user in once more.
async fn the_cap_evicts_ended_sessions_then_the_oldest(fresh: &Fresh<Stores>) {
    let ten = [4, 9, 1, 7, 10, 2, 8, 3, 6, 5].map(|made: i64| (made, made)).to_vec();
    let (idle, old) = (Cutoffs { seen: at(100), ..NONE_ENDED }, Cutoffs { created: at(19), ..NONE_ENDED });
    // Created before a clock was set back, created since, created by a clock at the tolerance, and idle.
    let dated = vec![(5000, 5000), (8, 500), (309, 500), (9, 0)];
    let ahead = Cutoffs { seen: at(1), ahead: at(310), ..NONE_ENDED };
    let mut stay = Vec::new();
    for (row, (made, cap, ended, evicted)) in [
        (ten.clone(), 11, NONE_ENDED, vec![]),
        (ten.clone(), 10, NONE_ENDED, vec![1]),
        (ten, 3, NONE_ENDED, (1..=8).collect()),
        (vec![(1, 1)], 1, NONE_ENDED, vec![1]),
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
    .chain((0..8).map(|_| (vec![(10_001, 10_001)], 1, NONE_ENDED, vec![10_001])))
    .enumerate()
    {
        let (row, user) = (row as u64 * 10_000, user_id(row as u64 + 1));
        let made: Vec<_> = made.iter().map(|one| used(row + one.0.unsigned_abs(), user, *one)).collect();
        make(&fresh.one, &made).await;
        let new = session(row, user, at(10_001));
        let gone = begin(&fresh.one, &new, NonZeroU32::new(cap).unwrap(), ended).await;
        let is_evicted = |one: &Session| evicted.iter().any(|made| one.created_at == at(*made));
        let (expected, left): (Vec<_>, Vec<_>) = by_age(made).into_iter().partition(is_evicted);
        assert_eq!(by_age(gone), expected, "{user}");
        stay.push((user, by_age([left, vec![new]].concat())));
    }
    for (user, left) in stay {
        fresh.lists(user, &left).await;
    }
}

async fn concurrent_callers_never_exceed_the_cap(fresh: &Fresh<Stores>) {
    let made = |number: u64| session(number, user_id(1), at(number.cast_signed()));
    let gone = fresh
        .concurrently(
            move |number, stores| async move { begin(&stores, &made(number), TEN, NONE_ENDED).await },
        )
        .await;
    let left = fresh.one.sessions.of_user(user_id(1)).await.unwrap();
    assert_eq!(left.len(), 10);
    let all = by_age([gone.concat(), left].concat());
    assert_eq!(all, (0..32).map(made).collect::<Vec<_>>(), "each went once, or is still there");
    assert_eq!(fresh.one.sessions.prune(NONE_ENDED, HIGH_CAP).await.unwrap(), []);
}

/// More than a page or a batch.
const MANY_SESSIONS: u64 = 303;

async fn handles_very_many_sessions_of_a_user(fresh: &Fresh<Stores>) {
    let (store, user) = (&fresh.one.sessions, user_id(1));
    let all: Vec<_> =
        (1..=MANY_SESSIONS).map(|number| session(number, user, at(number.cast_signed()))).collect();
    add_sessions(&fresh.one, all.clone()).await;
    fresh.lists(user, &all).await;
    // The new one needs a place as well.
    let (new, room) = (session(MANY_SESSIONS + 1, user, at(i64::MAX >> 16)), 150);
    let cap = NonZeroU32::new(u32::try_from(room).unwrap()).unwrap();
    let mut left = all;
    let gone: Vec<_> = left.drain(..=left.len() - room).collect();
    left.push(new.clone());
    assert_eq!(by_age(begin(&fresh.one, &new, cap, NONE_ENDED).await), gone);
    fresh.lists(user, &left).await;
    assert_eq!(store.revoke_user(user).await.unwrap(), left);
    fresh.lists(user, &[]).await;
    assert_eq!(store.revoke_user(user).await.unwrap(), []);
    for session in left {
        assert_eq!(fresh.other.sessions.find(&session.id).await.unwrap(), None);
    }
}

async fn prune_fills_its_limit_while_sessions_remain(fresh: &Fresh<Stores>) {
    const HOUR: i64 = 3_600_000_000;
    let (store, limit) = (&fresh.one.sessions, NonZeroU32::new(500).unwrap());
    let all: Vec<_> = (1..=700).map(|number| session(number, user_id(number), at(HOUR))).collect();
    add_sessions(&fresh.one, all.clone()).await;
    for expected in [500, 200, 0] {
        assert_eq!(store.rewind(at(0), limit).await.unwrap(), expected, "those whose time lies ahead");
    }
    touch(&**store, &all.iter().map(|session| (session.id, at(5))).collect::<Vec<_>>()).await;
    let ended = Cutoffs { created: at(0), ..NONE_ENDED };
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
async fn check(
    fresh: &Fresh<Stores>,
    first: u64,
    what: &'static str,
    write: impl AsyncFn(&Arc<dyn SessionStore>, u64),
) {
    let ready = async |stores: &Arc<Stores>, number: u64| {
        make(stores, &[1, 2, 3].map(|index| made(first + number, index))).await;
    };
    let write = async |stores: &Arc<Stores>, number: u64| write(&stores.sessions, first + number).await;
    // Creation and last use, which are comparable between users.
    let look = async |stores: &Arc<Stores>, number: u64| {
        let store = &stores.sessions;
        let sessions = store.of_user(user(first + number)).await.unwrap();
        let mut found = Vec::new();
        for session in &sessions {
            found.extend(store.find(&session.id).await.unwrap());
        }
        assert_eq!(found, sessions, "listed sessions can be found");
        sessions.iter().map(|session| (session.created_at, session.last_seen_at)).collect::<Vec<_>>()
    };
    let further = async |stores: &Arc<Stores>| {
        stores.sessions.revoke_user(user_id(UNRELATED_USER)).await.unwrap();
        make(stores, &[session(UNRELATED_USER, user_id(UNRELATED_USER), at(i64::MAX >> 16))]).await;
    };
    cancelled(fresh, what, ready, write, look, further).await;
}

async fn a_cancelled_write_is_complete_or_absent(fresh: &Fresh<Stores>) {
    check(fresh, 20_000, "a touch", async |store, number| {
        touch(&**store, &[1, 2, 3].map(|index| (made(number, index).id, at(50)))).await;
    })
    .await;
    check(fresh, 30_000, "a revocation", async |store, number| {
        store.revoke_user(user(number)).await.unwrap();
    })
    .await;
    check(fresh, 40_000, "a prune", async |store, _| {
        store.prune(Cutoffs { created: at(1000), ..NONE_ENDED }, HIGH_CAP).await.unwrap();
    })
    .await;
    check(fresh, 50_000, "a rewind", async |store, _| {
        store.rewind(at(-3_600_000_000), HIGH_CAP).await.unwrap();
    })
    .await;
}

async fn revoke_ends_one_session_and_is_idempotent(fresh: &Fresh<Stores>) {
    let sessions =
        [(1, 1), (2, 1), (3, 2), (4, 3)].map(|(number, user)| session(number, user_id(user), at(0)));
    let [ended, same_user, other_user, twice] = sessions.clone();
    let all_over = Cutoffs { created: at(0), seen: at(0), ..NONE_ENDED };
    fresh.finds(&ended, None).await;
    assert_eq!(fresh.one.sessions.revoke(&ended.id).await.unwrap(), None);
    assert_eq!(fresh.one.sessions.expire(&ended.id, all_over).await.unwrap(), None);
    assert_eq!(fresh.one.sessions.prune(all_over, HIGH_CAP).await.unwrap(), []);
    assert_eq!(fresh.one.sessions.rewind(at(0), HIGH_CAP).await.unwrap(), 0);
    make(&fresh.one, &sessions).await;
    // Found through both handles before, so that a handle with a stale cache fails.
    fresh.finds(&ended, Some(&ended)).await;
    assert_eq!(fresh.one.sessions.revoke(&ended.id).await.unwrap(), Some(ended.clone()));
    assert_eq!(fresh.one.sessions.revoke(&twice.id).await.unwrap(), Some(twice.clone()));
    assert_eq!(fresh.other.sessions.revoke(&twice.id).await.unwrap(), None, "an outcome rests on no copy");
    fresh.finds(&ended, None).await;
    assert_eq!(fresh.one.sessions.revoke(&ended.id).await.unwrap(), None);
    fresh.lists(user_id(1), &[same_user]).await;
    fresh.lists(user_id(2), &[other_user]).await;
}

async fn exactly_one_concurrent_caller_ends_a_session(fresh: &Fresh<Stores>) {
    let over = Cutoffs { created: at(0), ..NONE_ENDED };
    for how in ["revoke", "expire", "prune"] {
        let made = session(1, user_id(1), at(0));
        make(&fresh.one, std::slice::from_ref(&made)).await;
        let ended = fresh
            .concurrently(move |_, stores| async move {
                let store = &stores.sessions;
                match how {
                    "revoke" => Vec::from_iter(store.revoke(&token_hash(1)).await.unwrap()),
                    "expire" => Vec::from_iter(store.expire(&token_hash(1), over).await.unwrap()),
                    _ => store.prune(over, TEN).await.unwrap(),
                }
            })
            .await;
        assert_eq!(ended.concat(), [made], "{how}");
    }
}

async fn expiry_is_exact_to_the_microsecond(fresh: &Fresh<Stores>) {
    let over = Cutoffs { created: at(100), seen: at(200), ..NONE_ENDED };
    let rows = [(99, 300), (100, 300), (101, 300), (150, 199), (150, 200), (150, 201), (50, 60)];
    let sessions = (1..).zip(rows).map(|(number, row)| used(number, user_id(1 + number % 2), row));
    let sessions: Vec<_> = sessions.collect();
    let is_over = |one: &Session| one.created_at <= at(100) || one.last_seen_at <= at(200);
    for expires in [true, false] {
        make(&fresh.one, &sessions).await;
        for session in &sessions {
            fresh.finds(session, Some(session)).await;
        }
        for (cutoffs, expected) in [(NONE_ENDED, false), (over, true), (over, false)] {
            let mut ended = Vec::new();
            if expires {
                for session in &sessions {
                    ended.extend(fresh.one.sessions.expire(&session.id, cutoffs).await.unwrap());
                }
            } else {
                ended = fresh.one.sessions.prune(cutoffs, HIGH_CAP).await.unwrap();
            }
            let all = sessions.iter().filter(|session| expected && is_over(session)).cloned();
            assert_eq!(by_age(ended), by_age(all.collect()), "expires: {expires}");
        }
        for session in &sessions {
            fresh.finds(session, Some(session).filter(|session| !is_over(session))).await;
            fresh.one.sessions.revoke(&session.id).await.unwrap();
        }
    }
}

async fn prune_removes_unreadable_sessions_beyond_its_limit(fresh: &Fresh<Stores>) {
    let over: Vec<_> =
        (1..=12).map(|number| session(number, user_id(number), at(number.cast_signed()))).collect();
    let live = session(13, user_id(13), at(2000));
    make(&fresh.one, &over).await;
    make(&fresh.one, std::slice::from_ref(&live)).await;
    // Older than the others, between them, and youngest.
    let is_damaged =
        |session: &Session| (1..=5).chain([8, 12]).any(|number| session.id == token_hash(number));
    let (damaged, readable): (Vec<_>, Vec<_>) = over.into_iter().partition(is_damaged);
    if !fresh.damage(damaged.iter().map(|session| Key::Session(session.id))).await {
        return;
    }
    let ended = Cutoffs { created: at(1000), ..NONE_ENDED };
    let mut pruned = Vec::new();
    for expected in [2, 2, 1, 0] {
        let some = fresh.one.sessions.prune(ended, NonZeroU32::new(2).unwrap()).await.unwrap();
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

async fn rewind_sets_only_times_beyond_the_horizon(fresh: &Fresh<Stores>) {
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
    make(&fresh.one, &cases.map(|(number, before, _)| dated(number, before))).await;
    for expected in [3, 0] {
        assert_eq!(fresh.one.sessions.rewind(at(now), HIGH_CAP).await.unwrap(), expected);
    }
    let expected = cases.map(|(number, _, after)| dated(number, after)).to_vec();
    let listed = fresh.shows(async |stores| stores.sessions.of_user(user_id(1)).await.unwrap()).await;
    assert!(listed.is_sorted_by_key(|session| session.created_at), "{listed:?}");
    assert_eq!(by_age(listed), by_age(expected));
}

async fn a_touch_only_advances_the_last_use(fresh: &Fresh<Stores>) {
    let [touched, untouched, ended] =
        [(1, 0), (2, 1), (3, 2)].map(|(number, time)| session(number, user_id(1), at(time)));
    make(&fresh.one, &[touched.clone(), untouched.clone(), ended.clone()]).await;
    fresh.one.sessions.revoke(&ended.id).await.unwrap();
    for (time, expected) in [(1, 1), (500, 500), (499, 500), (-1, 500), (500, 500), (501, 501)] {
        touch(
            &*fresh.one.sessions,
            &[(ended.id, at(time)), (touched.id, at(time)), (token_hash(4), at(time))],
        )
        .await;
        let expected = used(1, user_id(1), (0, expected));
        // A use is no change, so a cache on the other node may hold an earlier one.
        assert_eq!(fresh.one.sessions.find(&touched.id).await.unwrap().as_ref(), Some(&expected));
        fresh.lists(user_id(1), &[expected, untouched.clone()]).await;
        for none in [&ended, &session(4, user_id(1), at(0))] {
            fresh.finds(none, None).await;
        }
    }
}

/// Each session twice, the later use first: the latest counts, not the last.
async fn one_touch_accepts_the_maximum_number_of_uses(fresh: &Fresh<Stores>) {
    let half = Uses::MAX_BATCH as u64 / 2;
    let all: Vec<_> =
        (1..=half).map(|number| session(number, user_id(1), at(number.cast_signed()))).collect();
    add_sessions(&fresh.one, all.clone()).await;
    let seen: Vec<_> =
        [2000, 1000].into_iter().flat_map(|time| all.iter().map(move |one| (one.id, at(time)))).collect();
    let [batch] = Uses::batches(&seen).collect::<Vec<_>>()[..] else { panic!("one write takes them all") };
    fresh.one.sessions.touch(batch).await.unwrap();
    let expected: Vec<_> = all.into_iter().map(|one| Session { last_seen_at: at(2000), ..one }).collect();
    fresh.lists(user_id(1), &expected).await;
}

async fn the_latest_of_concurrent_touches_wins(fresh: &Fresh<Stores>) {
    let made = session(1, user_id(1), at(0));
    make(&fresh.one, std::slice::from_ref(&made)).await;
    fresh
        .concurrently(|number, stores| async move {
            let time = at(i64::try_from((number * 7) % CALLERS).unwrap());
            stores.sessions.touch(Uses::one(&(token_hash(1), time))).await.unwrap();
        })
        .await;
    let found = fresh.one.sessions.find(&made.id).await.unwrap().unwrap();
    assert_eq!(found.last_seen_at, at(i64::try_from(CALLERS).unwrap() - 1));
}

/// A store that keeps the last use beside the session must check it there, too.
async fn every_operation_honours_recorded_uses(fresh: &Fresh<Stores>) {
    let (store, user) = (&fresh.one.sessions, user_id(1));
    let all = [(10, 500), (20, 400), (30, 300), (40, 450)]
        .map(|times: (i64, i64)| used(times.0.unsigned_abs(), user, times));
    let [first, second, third, fourth] = all.clone();
    make(&fresh.one, &all.clone().map(|used| Session { last_seen_at: used.created_at, ..used })).await;
    touch(&**store, &all.clone().map(|used| (used.id, used.last_seen_at))).await;
    fresh.lists(user, &all).await;
    // Ended by their creation, but not by their last use.
    let as_made = Cutoffs { seen: at(100), ..NONE_ENDED };
    for store in [store, &fresh.other.sessions] {
        assert_eq!(store.expire(&first.id, as_made).await.unwrap(), None);
        assert_eq!(store.prune(as_made, HIGH_CAP).await.unwrap(), []);
    }
    let (new, four) = (session(50, user, at(600)), NonZeroU32::new(4).unwrap());
    let gone = begin(&fresh.one, &new, four, Cutoffs { seen: at(300), ..NONE_ENDED }).await;
    assert_eq!(gone, [third], "the one that went unused for longest is over");
    assert_eq!(store.revoke(&second.id).await.unwrap(), Some(second));
    assert_eq!(store.expire(&first.id, Cutoffs { seen: at(500), ..NONE_ENDED }).await.unwrap(), Some(first));
    assert_eq!(store.revoke_user(user).await.unwrap(), [fourth, new]);
}

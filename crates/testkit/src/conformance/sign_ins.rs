//! The contract of [`SignIns`](companion_domain::port::SignIns) about sessions and grants.

use super::{
    Fresh, Stores,
    change_feed::{assert_are, lists_once, subjects_of},
    concurrency::{CALLERS, cancelled},
    prepared::{add_sessions, begin, granted, version_of},
    sample::{LOTS, NONE_ENDED, TEN, at, grant, session, token_hash, user_id},
};
use companion_domain::{
    change::Subject,
    model::UserId,
    port::{Claimed, Grant, GrantContent, GrantVersion, StoreErrorKind},
    session::Session,
};
use std::{num::NonZeroU32, sync::Arc};

suite! {
    /// Generates one test per behaviour of `SignIns`. It needs all storage ports.
    sign_ins_conformance($): sign_ins, Stores;
    a_sign_in_writes_the_session_and_replaces_the_grant,
    an_existing_id_is_a_conflict_and_writes_neither,
    a_cancelled_write_leaves_both_or_neither,
    readers_never_see_a_session_without_its_grant,
    ends_only_the_current_version_of_a_grant,
    ends_only_sessions_without_a_grant,
    concurrent_ends_return_each_session_once,
    concurrent_sign_ins_and_ends_leave_both_or_neither,
    lists_every_begin_and_end,
    very_many_sessions_end_with_their_grant,
    a_write_does_not_block_the_polling_thread,
}

/// Returns how many sessions the user has, and whether there is a grant.
async fn standing(stores: &Stores, user: UserId) -> (usize, bool) {
    (stores.sessions.of_user(user).await.unwrap().len(), version_of(stores, user).await.is_some())
}

/// Returns [`standing`] through both handles.
async fn shown(fresh: &Fresh<Stores>, user: UserId) -> (usize, bool) {
    fresh.shows(async |stores| standing(stores, user).await).await
}

async fn a_sign_in_writes_the_session_and_replaces_the_grant(fresh: &Fresh<Stores>) {
    let user = user_id(1);
    let claim = async |version| fresh.one.grants.claim_refresh(user, version, at(9), None).await.unwrap();
    let mut last = GrantVersion(0);
    for (number, content) in
        [(1, grant(1)), (2, GrantContent { tokens: None, ..grant(2) }), (3, GrantContent::default())]
    {
        let made = session(number, user, at(5));
        assert_eq!(begin(&fresh.one, &made, &content).await, []);
        let version = version_of(&fresh.one, user).await.unwrap();
        assert!(version > last);
        let found = fresh.shows(async |stores| stores.sessions.find(&made.id).await.unwrap()).await;
        let granted = fresh.shows(async |stores| stores.grants.find(user).await.unwrap()).await;
        assert_eq!(found, Some(made));
        assert_eq!(granted, Some(Grant { version, content }), "nothing of an old one is left");
        assert_eq!(claim(last).await, Claimed::Gone);
        assert_eq!(claim(version).await, Claimed::Granted);
        last = version;
    }
    assert_eq!(standing(&fresh.one, user_id(2)).await, (0, false));
}

async fn an_existing_id_is_a_conflict_and_writes_neither(fresh: &Fresh<Stores>) {
    let (mine, other) = (session(1, user_id(1), at(1)), session(2, user_id(1), at(2)));
    begin(&fresh.one, &mine, &grant(1)).await;
    begin(&fresh.one, &other, &grant(2)).await;
    let before = fresh.one.grants.find(user_id(1)).await.unwrap();
    for repeated in [session(1, user_id(1), at(3)), session(1, user_id(9), at(3)), mine.clone()] {
        let refused = fresh.one.sign_ins.begin(&repeated, NonZeroU32::MIN, NONE_ENDED, &grant(3)).await;
        assert_eq!(refused.unwrap_err().kind, StoreErrorKind::Conflict);
    }
    assert_eq!(fresh.one.sessions.of_user(user_id(1)).await.unwrap(), [mine, other]);
    assert_eq!(fresh.one.grants.find(user_id(1)).await.unwrap(), before);
    assert_eq!(standing(&fresh.one, user_id(9)).await, (0, false));
    let attempts = fresh
        .concurrently(|number, stores| async move {
            let session = session(3, user_id(number + 1), at(0));
            let begun = stores.sign_ins.begin(&session, TEN, NONE_ENDED, &grant(3)).await;
            begun.map(|_| session).map_err(|error| error.kind)
        })
        .await;
    let (made, refused): (Vec<_>, Vec<_>) = attempts.into_iter().partition(Result::is_ok);
    assert!(refused.iter().all(|attempt| *attempt == Err(StoreErrorKind::Conflict)));
    assert_eq!(made, [Ok(fresh.one.sessions.find(&token_hash(3)).await.unwrap().unwrap())]);
}

/// Cancels a write about one user, whose number is `first` or higher and who has three sessions, with or without a
/// grant.
async fn check(
    fresh: &Fresh<Stores>,
    what: &'static str,
    (first, has_grant): (u64, bool),
    write: impl AsyncFn(&Stores, UserId),
) {
    let user = |number| user_id(first + number);
    let ready = async |stores: &Arc<Stores>, number| {
        if has_grant {
            granted(stores, user(number), &grant(1)).await;
        }
        let made =
            |index: u64| session(10 * user(number).get() + index, user(number), at(index.cast_signed()));
        add_sessions(stores, (0..3).map(made)).await;
    };
    let write = async |stores: &Arc<Stores>, number| write(stores, user(number)).await;
    // The content of the grant, and the dates of the sessions, which are comparable between users.
    let look = async |stores: &Arc<Stores>, number| {
        let sessions = stores.sessions.of_user(user(number)).await.unwrap();
        let dates: Vec<_> = sessions.iter().map(|session| session.created_at).collect();
        (dates, stores.grants.find(user(number)).await.unwrap().map(|grant| grant.content))
    };
    let further = async |stores: &Arc<Stores>| {
        stores.sessions.revoke_user(user_id(1)).await.unwrap();
        begin(stores, &session(1, user_id(1), at(0)), &grant(1)).await;
    };
    cancelled(fresh, what, ready, write, look, further).await;
}

async fn a_cancelled_write_leaves_both_or_neither(fresh: &Fresh<Stores>) {
    check(fresh, "a sign-in in the place of another", (100, true), async |stores, user| {
        let (made, three) = (session(10 * user.get() + 9, user, at(9)), NonZeroU32::new(3).unwrap());
        stores.sign_ins.begin(&made, three, NONE_ENDED, &grant(2)).await.unwrap();
    })
    .await;
    check(fresh, "the end of a grant", (10_000, true), async |stores, user| {
        let version = version_of(stores, user).await.unwrap();
        stores.sign_ins.end(user, version).await.unwrap();
    })
    .await;
    check(fresh, "the end of sessions without a grant", (20_000, false), async |stores, user| {
        stores.sign_ins.end_without_grant(user).await.unwrap();
    })
    .await;
}

/// Adds sessions of user 1, after a grant or without one.
async fn ready(fresh: &Fresh<Stores>, has_grant: bool, sessions: &[Session]) -> Option<GrantVersion> {
    let version = if has_grant { Some(granted(&fresh.one, user_id(1), &grant(1)).await) } else { None };
    add_sessions(&fresh.one, sessions.iter().cloned()).await;
    version
}

/// Ends all sessions of a user, with the grant if there is one.
async fn end(stores: &Stores, user: UserId, granted: Option<GrantVersion>) -> Option<Vec<Session>> {
    match granted {
        Some(version) => stores.sign_ins.end(user, version).await.unwrap(),
        None => stores.sign_ins.end_without_grant(user).await.unwrap(),
    }
}

/// More than any user has, but a cap can be as high.
async fn very_many_sessions_end_with_their_grant(fresh: &Fresh<Stores>) {
    let user = user_id(1);
    let all: Vec<_> =
        (1..=LOTS).map(|number| session(number, user, at(i64::try_from(number).unwrap()))).collect();
    begin(&fresh.one, &session(LOTS + 1, user_id(2), at(15)), &grant(4)).await;
    for has_grant in [true, false] {
        let version = ready(fresh, has_grant, &all).await;
        let ended = end(&fresh.one, user, version).await;
        let count = ended.as_ref().map(Vec::len);
        assert!(ended.as_ref() == Some(&all), "all of them, the oldest first: {count:?}");
        assert_eq!((shown(fresh, user).await, shown(fresh, user_id(2)).await), ((0, false), (1, true)));
    }
}

async fn readers_never_see_a_session_without_its_grant(fresh: &Fresh<Stores>) {
    fresh
        .concurrently(|number, stores| {
            let settle = fresh.settler();
            async move {
                let user = user_id(1 + number / 2);
                let made = session(user.get(), user, at(0));
                // Writers and readers use different handles.
                if number % 2 == 0 {
                    begin(&stores, &made, &grant(1)).await;
                    return;
                }
                for _ in 0..10_000 {
                    let has_session = stores.sessions.find(&made.id).await.unwrap().is_some();
                    if has_session || version_of(&stores, user).await.is_some() {
                        settle(()).await;
                        assert_eq!(standing(&stores, user).await, (1, true), "one without the other");
                        return;
                    }
                    settle(()).await;
                    tokio::task::yield_now().await;
                }
                panic!("what was written is never seen");
            }
        })
        .await;
}

async fn ends_only_the_current_version_of_a_grant(fresh: &Fresh<Stores>) {
    let user = user_id(1);
    begin(&fresh.one, &session(1, user, at(1)), &grant(1)).await;
    let stale = version_of(&fresh.one, user).await.unwrap();
    begin(&fresh.one, &session(2, user, at(2)), &grant(2)).await;
    let version = version_of(&fresh.one, user).await.unwrap();
    for wrong in [stale, GrantVersion(version.0 + 1000)] {
        assert_eq!(fresh.one.sign_ins.end(user, wrong).await.unwrap(), None);
        assert_eq!(standing(&fresh.one, user).await, (2, true));
    }
    // A grant without sessions ends alone.
    fresh.one.sessions.revoke_user(user).await.unwrap();
    assert_eq!(fresh.one.sign_ins.end(user, version).await.unwrap(), Some(vec![]));
    assert_eq!(standing(&fresh.one, user).await, (0, false));
}

async fn ends_only_sessions_without_a_grant(fresh: &Fresh<Stores>) {
    let stores = &fresh.one;
    let (user, other) = (user_id(1), user_id(2));
    let sessions = [session(1, user, at(2)), session(2, user, at(1))];
    add_sessions(stores, sessions.clone()).await;
    begin(stores, &session(3, other, at(0)), &grant(3)).await;
    assert_eq!(stores.sign_ins.end_without_grant(other).await.unwrap(), None);
    assert_eq!(standing(stores, other).await, (1, true));
    let [newer, older] = sessions;
    assert_eq!(stores.sign_ins.end_without_grant(user).await.unwrap(), Some(vec![older, newer]));
    assert_eq!(shown(fresh, user).await, (0, false));
    assert_eq!(stores.sign_ins.end_without_grant(user).await.unwrap(), Some(vec![]));
}

async fn concurrent_ends_return_each_session_once(fresh: &Fresh<Stores>) {
    let user = user_id(1);
    let all: Vec<_> = (1..=5).map(|number| session(number, user, at(0))).collect();
    for has_grant in [true, false] {
        let version = ready(fresh, has_grant, &all).await;
        let told =
            fresh.concurrently(move |_, stores| async move { end(&stores, user, version).await }).await;
        let told: Vec<_> = told.into_iter().flatten().flatten().collect();
        assert!(told.len() == all.len() && all.iter().all(|session| told.contains(session)), "{told:?}");
    }
}

async fn concurrent_sign_ins_and_ends_leave_both_or_neither(fresh: &Fresh<Stores>) {
    for round in 0..4 {
        let user = user_id(1 + round);
        fresh
            .concurrently(move |number, stores| async move {
                match (number % 4, version_of(&stores, user).await) {
                    (0, Some(version)) => drop(stores.sign_ins.end(user, version).await.unwrap()),
                    (1, _) => drop(stores.sign_ins.end_without_grant(user).await.unwrap()),
                    _ => {
                        let made = session(round * CALLERS + number, user, at(0));
                        begin(&stores, &made, &grant(1)).await;
                    }
                }
            })
            .await;
        let (sessions, granted) = standing(&fresh.one, user).await;
        assert_eq!(sessions > 0, granted, "{sessions} sessions");
    }
}

async fn lists_every_begin_and_end(fresh: &Fresh<Stores>) {
    let user = user_id(1);
    let [first, second, third] = [1, 2, 3].map(|number| session(number, user, at(0)));
    let granted = Subject::Grant(user);
    let about = |session: &Session| Subject::Session(session.id);
    let sign_in = async |stores: &Stores| begin(stores, &first, &grant(1)).await;
    assert_are(&subjects_of(fresh, sign_in).await, &[about(&first), granted.clone()]);
    let evict = async |stores: &Stores| {
        stores.sign_ins.begin(&second, NonZeroU32::MIN, NONE_ENDED, &grant(2)).await.unwrap()
    };
    assert_are(&subjects_of(fresh, evict).await, &[about(&first), about(&second), granted.clone()]);
    let version = version_of(&fresh.one, user).await;
    let ends = async |stores: &Stores| end(stores, user, version).await;
    lists_once(fresh, &[about(&second), granted], ends).await;
    add_sessions(&fresh.one, [third.clone()]).await;
    lists_once(fresh, &[about(&third)], async |stores| end(stores, user, None).await).await;
}

async fn a_write_does_not_block_the_polling_thread(fresh: &Fresh<Stores>) {
    fresh
        .waits_elsewhere(async |stores| begin(stores, &session(1, user_id(1), at(0)), &grant(1)).await)
        .await;
}

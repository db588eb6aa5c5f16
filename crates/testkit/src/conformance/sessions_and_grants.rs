//! What a [`GrantStore`](companion_domain::port::GrantStore) knows of sessions: a grant is given back with the last one.

use super::{
    Fresh, Stores,
    sample::{NONE_OVER, TEN, at, grant, session, user_id},
};
use companion_domain::{
    port::{ClaimAfter, Grant},
    session::Cutoffs,
};

suite! {
    /// Makes one test of each behaviour of grants and sessions together.
    sessions_and_grants_conformance($): sessions_and_grants, Stores;
    a_grant_without_sessions_is_taken_once,
    a_grant_stays_while_there_is_a_session,
    a_session_of_someone_else_keeps_no_grant,
    a_session_that_is_over_keeps_its_grant_until_it_is_removed,
    of_callers_at_once_exactly_one_takes_the_grant,
    a_grant_that_was_taken_cannot_be_written_anew,
}

async fn a_grant_without_sessions_is_taken_once(fresh: &Fresh<Stores>) {
    let (grants, user) = (&fresh.one.grants, user_id(1));
    assert_eq!(grants.take_unused(user).await.unwrap(), None);
    let version = grants.replace(user, &grant(1)).await.unwrap();
    assert_eq!(grants.take_unused(user).await.unwrap(), Some(Grant { version, content: grant(1) }));
    assert_eq!(fresh.other.grants.find(user).await.unwrap(), None);
    assert_eq!(grants.take_unused(user).await.unwrap(), None);
}

async fn a_grant_stays_while_there_is_a_session(fresh: &Fresh<Stores>) {
    let (stores, user) = (&fresh.one, user_id(1));
    let sessions = [1, 2].map(|number| session(number, user, at(0)));
    let version = stores.grants.replace(user, &grant(1)).await.unwrap();
    for session in sessions {
        stores.sessions.create(&session, TEN, NONE_OVER).await.unwrap();
    }
    for session in sessions {
        assert_eq!(stores.grants.take_unused(user).await.unwrap(), None);
        assert!(stores.grants.find(user).await.unwrap().is_some());
        stores.sessions.revoke(&session.id).await.unwrap();
    }
    assert_eq!(
        fresh.other.grants.take_unused(user).await.unwrap(),
        Some(Grant { version, content: grant(1) })
    );
}

async fn a_session_of_someone_else_keeps_no_grant(fresh: &Fresh<Stores>) {
    let stores = &fresh.one;
    stores.sessions.create(&session(1, user_id(2), at(0)), TEN, NONE_OVER).await.unwrap();
    let theirs = stores.grants.replace(user_id(2), &grant(2)).await.unwrap();
    stores.grants.replace(user_id(1), &grant(1)).await.unwrap();
    assert!(stores.grants.take_unused(user_id(1)).await.unwrap().is_some());
    let kept = stores.grants.find(user_id(2)).await.unwrap();
    assert_eq!(kept, Some(Grant { version: theirs, content: grant(2) }));
}

/// A store does not know the time, so only removal ends a session for it.
async fn a_session_that_is_over_keeps_its_grant_until_it_is_removed(fresh: &Fresh<Stores>) {
    let (stores, user) = (&fresh.one, user_id(1));
    stores.grants.replace(user, &grant(1)).await.unwrap();
    stores.sessions.create(&session(1, user, at(0)), TEN, NONE_OVER).await.unwrap();
    assert_eq!(stores.grants.take_unused(user).await.unwrap(), None);
    let all_over = Cutoffs { created: at(0), seen: at(0) };
    assert_eq!(stores.sessions.prune(all_over, TEN).await.unwrap().len(), 1);
    assert!(stores.grants.take_unused(user).await.unwrap().is_some());
}

async fn of_callers_at_once_exactly_one_takes_the_grant(fresh: &Fresh<Stores>) {
    let version = fresh.one.grants.replace(user_id(1), &grant(1)).await.unwrap();
    let taken =
        fresh.crowd(|_, stores| async move { stores.grants.take_unused(user_id(1)).await.unwrap() }).await;
    let taken: Vec<_> = taken.into_iter().flatten().collect();
    assert_eq!(taken, [Grant { version, content: grant(1) }]);
}

async fn a_grant_that_was_taken_cannot_be_written_anew(fresh: &Fresh<Stores>) {
    let (grants, user) = (&fresh.one.grants, user_id(1));
    let version = grants.replace(user, &grant(1)).await.unwrap();
    assert!(grants.claim_refresh(user, version, at(0), at(10)).await.unwrap());
    assert!(grants.take_unused(user).await.unwrap().is_some(), "a claim does not keep it");
    assert!(grants.update(user, version, &grant(2), ClaimAfter::Released).await.is_err());
    assert_eq!(grants.find(user).await.unwrap(), None);
}

//! The relation of a [`GrantStore`](companion_domain::port::GrantStore) to sessions: a grant without sessions is
//! unused.

use super::{
    Fresh, Stores,
    grant_store::pages_list_each_once,
    sample::{BEYOND_SIGNED, LOTS, NONE_OVER, TEN, at, grant, session, user_id},
    stream::Stream,
};
use companion_domain::{
    model::UserId,
    port::{ClaimAfter, Claimed, Grant, GrantVersion, Record, Replace},
    session::Cutoffs,
};
use std::{num::NonZeroU32, sync::Arc};

suite! {
    /// Generates one test per behaviour of grants and sessions together.
    sessions_and_grants_conformance($): sessions_and_grants, Stores;
    a_grant_is_unused_once_its_user_has_no_session,
    pages_list_each_unused_grant_once,
}

async fn unused(fresh: &Fresh<Stores>) -> Vec<UserId> {
    fresh.shows(async |stores| stores.grants.unused(None, NonZeroU32::MAX).await.unwrap()).await
}

async fn a_grant_is_unused_once_its_user_has_no_session(fresh: &Fresh<Stores>) {
    let (stores, grants, user) = (&fresh.one, &fresh.one.grants, user_id(1));
    assert_eq!(unused(fresh).await, []);
    assert!(!grants.remove_unused(user, GrantVersion(1)).await.unwrap());
    for (number, user) in [(1, user), (2, user), (3, user_id(2))] {
        stores.sessions.create(&session(number, user, at(0)), TEN, NONE_OVER).await.unwrap();
    }
    let theirs = grants.replace(user_id(2), &grant(2)).await.unwrap();
    let stale = grants.replace(user, &grant(1)).await.unwrap();
    let version = grants.replace(user, &grant(1)).await.unwrap();
    let found = async |user| fresh.shows(async |stores| stores.grants.find(user).await.unwrap()).await;
    let is_kept = async |user, version, number| {
        assert!(!grants.remove_unused(user, version).await.unwrap());
        assert_eq!(found(user).await, Some(Grant { version, content: grant(number) }));
    };
    // A store has no clock, so an ended session counts until it is removed.
    for session in [1, 2].map(|number| session(number, user, at(0))) {
        assert_eq!(unused(fresh).await, []);
        is_kept(user, version, 1).await;
        let ended = Cutoffs { created: at(0), ..NONE_OVER };
        stores.sessions.expire(&session.id, ended).await.unwrap().unwrap();
    }
    assert_eq!(unused(fresh).await, [user]);
    assert!(!grants.remove_unused(user, stale).await.unwrap());
    assert_eq!(grants.claim_refresh(user, version, at(10), None).await.unwrap(), Claimed::Granted);
    assert!(fresh.other.grants.remove_unused(user, version).await.unwrap(), "a claim does not keep it");
    assert!(grants.update(user, version, &grant(2), ClaimAfter::Released).await.is_err());
    assert!(!grants.remove_unused(user, version).await.unwrap());
    fresh.settle().await;
    assert_eq!((found(user).await, unused(fresh).await), (None, vec![]));
    is_kept(user_id(2), theirs, 2).await;
}

async fn pages_list_each_unused_grant_once(fresh: &Fresh<Stores>) {
    let all: Vec<_> = (1..=LOTS).chain([BEYOND_SIGNED - 1, BEYOND_SIGNED, u64::MAX]).map(user_id).collect();
    let held = || Grant { version: GrantVersion(1), content: grant(1) };
    let mut grants = Stream::in_batches(all.iter().map(|user| Record::Grant(*user, held())), 100);
    fresh.one.records.sync(&Replace::default(), &mut grants).await.unwrap();
    // Grants in use are between the others, and do not count towards a page.
    let in_use = [1, 250, 600, 601, LOTS].map(user_id);
    for user in in_use {
        fresh.one.sessions.create(&session(user.get(), user, at(0)), TEN, NONE_OVER).await.unwrap();
    }
    let expected: Vec<_> = all.into_iter().filter(|user| !in_use.contains(user)).collect();
    let page = async |stores: &Arc<Stores>, after, limit| stores.grants.unused(after, limit).await.unwrap();
    let remove = async |user| {
        let version = fresh.one.grants.find(user).await.unwrap().unwrap().version;
        assert!(fresh.one.grants.remove_unused(user, version).await.unwrap());
    };
    pages_list_each_once(fresh, &expected, page, remove).await;
}

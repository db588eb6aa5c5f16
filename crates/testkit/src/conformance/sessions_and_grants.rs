//! The relation of a [`GrantStore`](companion_domain::port::GrantStore) to sessions: a grant without sessions is
//! unused.

use super::{
    Fresh, Stores,
    concurrency::all_of,
    sample::{BEYOND_SIGNED, LOTS, NONE_OVER, TEN, at, grant, session, user_id},
};
use companion_domain::{
    model::UserId,
    port::{ClaimAfter, Claimed, Grant, GrantVersion},
    session::Cutoffs,
};
use std::{collections::BTreeSet, num::NonZeroU32};

suite! {
    /// Generates one test per behaviour of grants and sessions together.
    sessions_and_grants_conformance($): sessions_and_grants, Stores;
    an_unused_grant_is_removed_once,
    a_grant_with_sessions_is_kept,
    a_session_of_another_user_keeps_no_grant,
    an_ended_session_keeps_its_grant_until_removed,
    only_the_current_version_is_removed_as_unused,
    exactly_one_concurrent_caller_removes_the_unused_grant,
    a_removed_unused_grant_cannot_be_updated,
    pages_list_each_unused_grant_once,
    a_page_of_unused_grants_is_full_unless_it_is_the_last,
    paging_continues_after_a_removed_grant,
}

/// Returns the users with unused grants, read page by page.
async fn unused(stores: &Stores) -> Vec<UserId> {
    let mut users = Vec::new();
    loop {
        let page = stores.grants.unused(users.last().copied(), NonZeroU32::MIN).await.unwrap();
        assert!(
            page.len() <= 1 && users.len() < 100,
            "a page holds no more than was asked for, and pages end"
        );
        match page.first() {
            Some(user) => users.push(*user),
            None => return users,
        }
    }
}

async fn an_unused_grant_is_removed_once(fresh: &Fresh<Stores>) {
    let (stores, user) = (&fresh.one, user_id(1));
    assert_eq!(unused(stores).await, []);
    assert!(!stores.grants.remove_unused(user, GrantVersion(1)).await.unwrap());
    let version = stores.grants.replace(user, &grant(1)).await.unwrap();
    fresh.settle().await;
    assert_eq!(unused(&fresh.other).await, [user]);
    assert!(stores.grants.remove_unused(user, version).await.unwrap());
    fresh.settle().await;
    assert_eq!(fresh.other.grants.find(user).await.unwrap(), None);
    assert!(!stores.grants.remove_unused(user, version).await.unwrap());
    assert_eq!(unused(stores).await, []);
}

async fn a_grant_with_sessions_is_kept(fresh: &Fresh<Stores>) {
    let (stores, user) = (&fresh.one, user_id(1));
    let sessions = [1, 2].map(|number| session(number, user, at(0)));
    let version = stores.grants.replace(user, &grant(1)).await.unwrap();
    for session in &sessions {
        stores.sessions.create(session, TEN, NONE_OVER).await.unwrap();
    }
    for session in sessions {
        assert_eq!(unused(stores).await, []);
        assert!(!stores.grants.remove_unused(user, version).await.unwrap());
        let kept = stores.grants.find(user).await.unwrap();
        assert_eq!(kept, Some(Grant { version, content: grant(1) }));
        stores.sessions.revoke(&session.id).await.unwrap();
    }
    fresh.settle().await;
    assert_eq!(unused(&fresh.other).await, [user]);
    assert!(fresh.other.grants.remove_unused(user, version).await.unwrap());
}

async fn a_session_of_another_user_keeps_no_grant(fresh: &Fresh<Stores>) {
    let stores = &fresh.one;
    stores.sessions.create(&session(1, user_id(2), at(0)), TEN, NONE_OVER).await.unwrap();
    let theirs = stores.grants.replace(user_id(2), &grant(2)).await.unwrap();
    let version = stores.grants.replace(user_id(1), &grant(1)).await.unwrap();
    assert_eq!(unused(stores).await, [user_id(1)]);
    assert!(stores.grants.remove_unused(user_id(1), version).await.unwrap());
    let kept = stores.grants.find(user_id(2)).await.unwrap();
    assert_eq!(kept, Some(Grant { version: theirs, content: grant(2) }));
}

/// A store has no clock, so a session counts until it is removed.
async fn an_ended_session_keeps_its_grant_until_removed(fresh: &Fresh<Stores>) {
    let (stores, user) = (&fresh.one, user_id(1));
    let version = stores.grants.replace(user, &grant(1)).await.unwrap();
    stores.sessions.create(&session(1, user, at(0)), TEN, NONE_OVER).await.unwrap();
    assert!(!stores.grants.remove_unused(user, version).await.unwrap());
    let all_over = Cutoffs { created: at(0), seen: at(0), ..NONE_OVER };
    assert_eq!(stores.sessions.prune(all_over, TEN).await.unwrap().len(), 1);
    assert_eq!(unused(stores).await, [user]);
    assert!(stores.grants.remove_unused(user, version).await.unwrap());
}

async fn only_the_current_version_is_removed_as_unused(fresh: &Fresh<Stores>) {
    let (grants, user) = (&fresh.one.grants, user_id(1));
    let stale = grants.replace(user, &grant(1)).await.unwrap();
    let version = grants.replace(user, &grant(2)).await.unwrap();
    assert!(!grants.remove_unused(user, stale).await.unwrap());
    assert_eq!(grants.find(user).await.unwrap(), Some(Grant { version, content: grant(2) }));
}

async fn exactly_one_concurrent_caller_removes_the_unused_grant(fresh: &Fresh<Stores>) {
    let version = fresh.one.grants.replace(user_id(1), &grant(1)).await.unwrap();
    let removed = fresh
        .concurrently(move |_, stores| async move {
            stores.grants.remove_unused(user_id(1), version).await.unwrap()
        })
        .await;
    assert_eq!(removed.into_iter().filter(|removed| *removed).count(), 1);
}

async fn a_removed_unused_grant_cannot_be_updated(fresh: &Fresh<Stores>) {
    let (grants, user) = (&fresh.one.grants, user_id(1));
    let version = grants.replace(user, &grant(1)).await.unwrap();
    assert_eq!(grants.claim_refresh(user, version, at(10), None).await.unwrap(), Claimed::Granted);
    assert!(grants.remove_unused(user, version).await.unwrap(), "a claim does not keep it");
    assert!(grants.update(user, version, &grant(2), ClaimAfter::Released).await.is_err());
    assert_eq!(grants.find(user).await.unwrap(), None);
}

async fn pages_list_each_unused_grant_once(fresh: &Fresh<Stores>) {
    let stores = &fresh.one;
    let users = [1, 2, 3, BEYOND_SIGNED - 1, BEYOND_SIGNED, u64::MAX].map(user_id);
    for user in users {
        stores.grants.replace(user, &grant(1)).await.unwrap();
    }
    stores.sessions.create(&session(1, user_id(2), at(0)), TEN, NONE_OVER).await.unwrap();
    fresh.settle().await;
    let listed = unused(&fresh.other).await;
    let expected: BTreeSet<_> = users.into_iter().filter(|user| *user != user_id(2)).collect();
    assert_eq!((listed.len(), listed.iter().copied().collect()), (5, expected));
    assert_eq!(stores.grants.unused(None, TEN).await.unwrap(), listed, "the order does not depend on pages");
    let last = stores.grants.unused(listed.get(3).copied(), TEN).await.unwrap();
    assert_eq!(last, listed.into_iter().skip(4).collect::<Vec<_>>());
}

async fn unused_by_many(stores: &Stores, users: u64) {
    let content = grant(1);
    let written = all_of((1..=users).map(|user| stores.grants.replace(user_id(user), &content))).await;
    assert!(written.into_iter().all(|version| version.is_ok()));
}

async fn a_page_of_unused_grants_is_full_unless_it_is_the_last(fresh: &Fresh<Stores>) {
    unused_by_many(&fresh.one, LOTS).await;
    // Grants in use are between the others, and do not count towards a page.
    for user in [1, 250, 600, 601, LOTS] {
        fresh.one.sessions.create(&session(user, user_id(user), at(0)), TEN, NONE_OVER).await.unwrap();
    }
    fresh
        .through_both(async |stores| {
            let mut listed: Vec<UserId> = Vec::new();
            for expected in [500, 500, 198, 0] {
                let after = listed.last().copied();
                let page = stores.grants.unused(after, NonZeroU32::new(500).unwrap()).await.unwrap();
                assert_eq!(page.len(), expected);
                listed.extend(page);
            }
            assert_eq!(listed.iter().collect::<BTreeSet<_>>().len(), listed.len(), "each once");
        })
        .await;
}

async fn paging_continues_after_a_removed_grant(fresh: &Fresh<Stores>) {
    let (grants, two) = (&fresh.one.grants, NonZeroU32::new(2).unwrap());
    unused_by_many(&fresh.one, 7).await;
    let mut listed: Vec<UserId> = Vec::new();
    loop {
        let page = grants.unused(listed.last().copied(), two).await.unwrap();
        listed.extend(&page);
        assert!(listed.len() <= 7, "pages end: {listed:?}");
        let Some(last) = page.last().copied() else { break };
        let version = grants.find(last).await.unwrap().unwrap().version;
        assert!(grants.remove_unused(last, version).await.unwrap());
    }
    listed.sort_unstable();
    assert_eq!(listed, (1..=7).map(user_id).collect::<Vec<_>>(), "each once");
}

//! The contract of a [`GrantStore`](companion_domain::port::GrantStore): contents, versions, claims, and grants without
//! sessions, which are unused.

use super::{
    Damage, Fresh, Stores,
    concurrency::{cancelled, pages},
    prepared::{begin, granted},
    sample::{
        BEYOND_SIGNED, LOTS, NONE_ENDED, at, grant, membership, named_guild, profile, session, user_id,
    },
    stream::Stream,
};
use companion_domain::{
    change::Key,
    model::{GuildList, Membership, UserId},
    port::{
        ClaimAfter,
        Claimed::{self, Gone, Granted, Held},
        Grant, GrantContent, GrantVersion, Record, Replace, Sealed, StoreErrorKind,
    },
    session::Cutoffs,
};
use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    num::NonZeroU32,
    sync::Arc,
};

suite! {
    /// Generates one test per behaviour of a `GrantStore`. It needs all storage ports.
    grant_store_conformance($): grant_store, Stores;
    a_grant_is_found_as_it_was_last_written,
    only_the_current_version_is_updated_or_removed,
    users_are_separate,
    pages_list_each_holder_and_each_unused_grant_once,
    profiles_are_those_of_users_with_a_grant,
    a_cancelled_write_is_complete_or_absent,
    an_unreadable_grant_is_corrupt_and_can_be_replaced,
    a_claim_is_held_until_it_is_released_or_taken_over,
    a_claim_is_for_one_version_of_one_grant,
    an_update_keeps_or_ends_the_claim_as_requested,
    exactly_one_concurrent_claim_succeeds,
    exactly_one_concurrent_update_succeeds,
    exactly_one_concurrent_removal_succeeds,
    a_grant_is_unused_once_its_user_has_no_session,
}

fn alice() -> UserId {
    user_id(1)
}

/// Returns contents with all and with absent parts, with empty and with large ones.
fn contents() -> Vec<GrantContent> {
    let list = |memberships: Vec<Membership>, without_bot| {
        Some(GuildList { memberships: memberships.into(), without_bot, fetched_at: at(123_457) })
    };
    let detailed = GrantContent {
        tokens: Some(Sealed::from_bytes((0..=255).collect())),
        list: list(
            vec![
                membership(9, true, u64::MAX),
                membership(BEYOND_SIGNED + 5, false, BEYOND_SIGNED),
                membership(2, false, 0),
            ],
            vec![named_guild(9), named_guild(BEYOND_SIGNED + 4)],
        ),
        profile: Some(profile(1)),
    };
    // In no order, and with guilds that are listed twice.
    let many = (1..=LOTS).map(|number| membership(number * 7_919 % 997 + 1, number % 3 == 0, number << 32));
    let large = GrantContent {
        tokens: Some(Sealed::from_bytes((0..=255).cycle().take(20_000).collect())),
        list: list(many.collect(), (0..200).map(named_guild).collect()),
        profile: None,
    };
    let with = |tokens, list| GrantContent { tokens, list, profile: None };
    let empty = || Some(Sealed::from_bytes(Vec::new()));
    let none = || list(vec![], vec![]);
    vec![detailed, large, with(empty(), none()), with(empty(), None), with(None, none()), with(None, None)]
}

/// Returns the grant of a user, as both handles show it.
async fn found(fresh: &Fresh<Stores>, user: UserId) -> Option<Grant> {
    fresh.shows(async |stores| stores.grants.find(user).await.unwrap()).await
}

async fn a_grant_is_found_as_it_was_last_written(fresh: &Fresh<Stores>) {
    let mut last = None;
    for content in contents() {
        // Writing equal content counts as a write, too.
        for updates in [false, true] {
            let version = match last.filter(|_| updates) {
                Some(current) => {
                    let updated =
                        fresh.one.grants.update(alice(), current, &content, ClaimAfter::Released).await;
                    updated.unwrap()
                }
                None => granted(&fresh.one, alice(), &content).await,
            };
            assert!(Some(version) > last, "{version:?} after {last:?}");
            assert_eq!(found(fresh, alice()).await, Some(Grant { version, content: content.clone() }));
            last = Some(version);
        }
    }
}

async fn only_the_current_version_is_updated_or_removed(fresh: &Fresh<Stores>) {
    let store = &fresh.one.grants;
    let refuses = async |version| {
        let before = store.find(alice()).await.unwrap();
        let refused = store.update(alice(), version, &grant(3), ClaimAfter::Released).await.unwrap_err();
        assert_eq!(refused.kind, StoreErrorKind::Conflict);
        assert!(!store.remove_unused(alice(), version).await.unwrap());
        store.release_claim(alice(), version).await.unwrap();
        assert_eq!(store.claim_refresh(alice(), version, at(30), None).await.unwrap(), Gone);
        assert_eq!(found(fresh, alice()).await, before);
    };
    refuses(GrantVersion(1)).await;
    let stale = granted(&fresh.one, alice(), &grant(1)).await;
    let version = granted(&fresh.one, alice(), &grant(2)).await;
    assert_eq!(store.claim_refresh(alice(), version, at(10), None).await.unwrap(), Granted);
    for wrong in [stale, GrantVersion(version.0 + 1000)] {
        refuses(wrong).await;
        let claimed = store.claim_refresh(alice(), version, at(20), None).await.unwrap();
        assert_eq!(claimed, Held(at(10)), "the claim is held still");
    }
    assert!(fresh.other.grants.remove_unused(alice(), version).await.unwrap(), "a claim does not keep it");
    fresh.settle().await;
    assert_eq!(found(fresh, alice()).await, None);
    refuses(version).await;
}

async fn users_are_separate(fresh: &Fresh<Stores>) {
    let store = &fresh.one.grants;
    let users = [1, 2, BEYOND_SIGNED, BEYOND_SIGNED + 1, u64::MAX].map(user_id);
    let mut written = Vec::new();
    for (number, user) in (1..).zip(users) {
        let content = grant(number);
        let version = granted(&fresh.one, user, &content).await;
        written.push((user, Grant { version, content }));
    }
    let version =
        store.update(alice(), written.remove(0).1.version, &grant(9), ClaimAfter::Kept).await.unwrap();
    assert_eq!(store.claim_refresh(alice(), version, at(10), None).await.unwrap(), Granted);
    assert!(store.remove_unused(alice(), version).await.unwrap());
    for (user, grant) in written {
        let claimed = store.claim_refresh(user, grant.version, at(10), None).await.unwrap();
        assert_eq!(claimed, Granted, "{user}");
        assert_eq!(store.find(user).await.unwrap(), Some(grant), "{user}");
    }
}

async fn profiles_are_those_of_users_with_a_grant(fresh: &Fresh<Stores>) {
    let (named, nameless, gone) = (user_id(u64::MAX), user_id(2), user_id(3));
    granted(&fresh.one, named, &grant(7)).await;
    granted(&fresh.one, nameless, &GrantContent { profile: None, ..grant(8) }).await;
    let version = granted(&fresh.one, gone, &grant(9)).await;
    fresh.one.grants.remove_unused(gone, version).await.unwrap();
    for (asked, expected) in [
        (BTreeSet::from([named, nameless, gone, user_id(4)]), HashMap::from([(named, profile(7))])),
        (BTreeSet::new(), HashMap::new()),
    ] {
        assert_eq!(fresh.shows(async |stores| stores.grants.profiles(&asked).await.unwrap()).await, expected);
    }
}

async fn pages_list_each_holder_and_each_unused_grant_once(fresh: &Fresh<Stores>) {
    let all: Vec<_> = (1..=LOTS).chain([BEYOND_SIGNED - 1, BEYOND_SIGNED, u64::MAX]).map(user_id).collect();
    // Grants in use are between the others, and do not count towards a page of unused ones.
    let in_use = [1, 250, 600, 601, LOTS].map(user_id);
    let held = || Grant { version: GrantVersion(1), content: grant(1) };
    let grants = all.iter().map(|user| Record::Grant(*user, held()));
    let sessions = in_use.map(|user| Record::Session(session(user.get(), user, at(0))));
    let mut records = Stream::in_batches(grants.chain(sessions), 100);
    fresh.one.records.sync(&Replace::default(), &mut records).await.unwrap();
    let unused: Vec<_> = all.iter().copied().filter(|user| !in_use.contains(user)).collect();
    let page = async |stores: &Stores, after, limit| stores.grants.unused(after, limit).await.unwrap();
    let removed = pages_list_each_once(fresh, &unused, page).await;
    let left: Vec<_> = all.into_iter().filter(|user| !removed.contains(user)).collect();
    let page = async |stores: &Stores, after, limit| stores.grants.holders(after, limit).await.unwrap();
    pages_list_each_once(fresh, &left, page).await;
}

/// Asserts that pages of any length list each of these users once, through both handles, also if a reader removes unused
/// grants that it has read. Returns the users whose grants it removed.
async fn pages_list_each_once(
    fresh: &Fresh<Stores>,
    expected: &[UserId],
    page: impl AsyncFn(&Stores, Option<UserId>, NonZeroU32) -> Vec<UserId>,
) -> Vec<UserId> {
    let list = async |stores: &Stores, limit, removed: Option<&RefCell<Vec<UserId>>>| {
        let remove = async |user| {
            let Some(removed) = removed else { return };
            let version = stores.grants.find(user).await.unwrap().unwrap().version;
            if stores.grants.remove_unused(user, version).await.unwrap() {
                removed.borrow_mut().push(user);
            }
        };
        let mut listed = pages(limit, async |after, limit| page(stores, after, limit).await, remove).await;
        listed.sort_unstable();
        assert_eq!(listed, expected, "pages of {limit}");
    };
    fresh
        .through_both(async |stores| {
            for limit in [97, 500, u32::MAX] {
                list(stores, limit, None).await;
            }
        })
        .await;
    let removed = RefCell::default();
    list(&fresh.one, 97, Some(&removed)).await;
    removed.into_inner()
}

async fn a_cancelled_write_is_complete_or_absent(fresh: &Fresh<Stores>) {
    let user = |number: u64| user_id(number + 1);
    let ready = async |stores: &Arc<Stores>, number| granted(stores, user(number), &grant(1)).await;
    let look = async |stores: &Arc<Stores>, number| {
        stores.grants.find(user(number)).await.unwrap().map(|found| found.content)
    };
    let further = async |stores: &Arc<Stores>| granted(stores, user_id(u64::MAX), &grant(1)).await;
    let write = async |stores: &Arc<Stores>, number| {
        let version = stores.grants.find(user(number)).await.unwrap().unwrap().version;
        stores.grants.update(user(number), version, &grant(2), ClaimAfter::Released).await.unwrap();
    };
    cancelled(fresh, "an update", ready, write, look, further).await;
}

async fn an_unreadable_grant_is_corrupt_and_can_be_replaced(fresh: &Fresh<Stores>) {
    for user in [1, 2, 3] {
        granted(&fresh.one, user_id(user), &grant(user)).await;
    }
    if !fresh.damage([Damage::Record(Key::Grant(user_id(1))), Damage::GuildList(user_id(2))]).await {
        return;
    }
    let found = async |user| {
        let find =
            async |stores: &Arc<Stores>| stores.grants.find(user_id(user)).await.map_err(|error| error.kind);
        fresh.shows(find).await.map(|found| found.map(|grant| grant.content))
    };
    let corrupt = Err(StoreErrorKind::Corrupt);
    assert_eq!(found(1).await, corrupt, "no session ends by an unreadable grant");
    assert_eq!(found(2).await, Ok(Some(GrantContent { list: None, ..grant(2) })));
    assert_eq!(found(3).await, Ok(Some(grant(3))));
    let holders = async |stores: &Arc<Stores>| stores.grants.holders(None, NonZeroU32::MAX).await.unwrap();
    assert_eq!(fresh.shows(holders).await.len(), 3, "each is still there");
    granted(&fresh.one, user_id(1), &grant(1)).await;
    assert_eq!(found(1).await, Ok(Some(grant(1))));
}

async fn claim(fresh: &Fresh<Stores>, version: GrantVersion, until: i64) -> Claimed {
    fresh.one.grants.claim_refresh(alice(), version, at(until), None).await.unwrap()
}

/// Claims as a node that considers the holder of the claim ending at `dead` dead.
async fn take_over(fresh: &Fresh<Stores>, version: GrantVersion, until: i64, dead: i64) -> Claimed {
    fresh.one.grants.claim_refresh(alice(), version, at(until), Some(at(dead))).await.unwrap()
}

/// A store has no clock: no date ends a claim.
async fn a_claim_is_held_until_it_is_released_or_taken_over(fresh: &Fresh<Stores>) {
    const FAR: i64 = 1_000_000_000_000;
    let version = granted(&fresh.one, alice(), &grant(1)).await;
    for (until, dead, expected, why) in [
        (100, Some(5), Granted, "there was none to take over"),
        (100, None, Held(at(100)), "one caller holds it"),
        (FAR, None, Held(at(100)), "no date ends it"),
        (-FAR, None, Held(at(100)), "a refused claim does not move it"),
        (200, Some(99), Held(at(100)), "this is another claim"),
        (200, Some(100), Granted, "it is named"),
        (300, Some(100), Held(at(200)), "another caller was faster"),
    ] {
        let dead = dead.map(at);
        let claimed = fresh.one.grants.claim_refresh(alice(), version, at(until), dead).await.unwrap();
        assert_eq!(claimed, expected, "{why}");
    }
    for date in [0, FAR, -FAR] {
        fresh.other.grants.release_claim(alice(), version).await.unwrap();
        assert_eq!(claim(fresh, version, date).await, Granted, "{date}");
        let elsewhere = fresh.other.grants.claim_refresh(alice(), version, at(11), None).await.unwrap();
        assert_eq!(elsewhere, Held(at(date)), "{date}");
    }
    let found = fresh.one.grants.find(alice()).await.unwrap();
    assert_eq!(found, Some(Grant { version, content: grant(1) }), "a claim writes nothing");
}

async fn a_claim_is_for_one_version_of_one_grant(fresh: &Fresh<Stores>) {
    let version = granted(&fresh.one, alice(), &grant(1)).await;
    let never = GrantVersion(version.0 + 1000);
    let theirs = granted(&fresh.one, user_id(2), &grant(2)).await;
    assert_eq!(fresh.one.grants.claim_refresh(user_id(2), theirs, at(10), None).await.unwrap(), Granted);
    assert_eq!(claim(fresh, never, 10).await, Gone);
    fresh.one.grants.release_claim(alice(), version).await.unwrap();
    assert_eq!(claim(fresh, version, 10).await, Granted, "no other version or user is in the way");
    assert_eq!(take_over(fresh, never, 20, 10).await, Gone);
    fresh.one.grants.release_claim(alice(), never).await.unwrap();
    fresh.one.grants.release_claim(user_id(2), version).await.unwrap();
    assert_eq!(claim(fresh, version, 30).await, Held(at(10)), "no other release ends it");
    assert!(fresh.one.grants.remove_unused(alice(), version).await.unwrap());
    assert_eq!(claim(fresh, version, 200).await, Gone);
    let newest = granted(&fresh.one, alice(), &grant(3)).await;
    assert_eq!(claim(fresh, newest, 100).await, Granted);
}

async fn an_update_keeps_or_ends_the_claim_as_requested(fresh: &Fresh<Stores>) {
    let first = granted(&fresh.one, alice(), &grant(1)).await;
    assert_eq!(claim(fresh, first, 100).await, Granted);
    let second = fresh.one.grants.update(alice(), first, &grant(2), ClaimAfter::Kept).await.unwrap();
    assert_eq!(claim(fresh, second, 200).await, Held(at(100)), "the same claim, on the new version");
    assert_eq!(take_over(fresh, second, 200, 99).await, Held(at(100)), "this is another claim");
    assert_eq!(take_over(fresh, second, 200, 100).await, Granted, "it is known by its end as before");
    let third = fresh.one.grants.update(alice(), second, &grant(3), ClaimAfter::Released).await.unwrap();
    assert_eq!(claim(fresh, third, 200).await, Granted);
    let fourth = fresh.one.grants.update(alice(), third, &grant(4), ClaimAfter::Kept).await.unwrap();
    fresh.one.grants.release_claim(alice(), fourth).await.unwrap();
    assert_eq!(claim(fresh, fourth, 200).await, Granted);
}

async fn exactly_one_concurrent_claim_succeeds(fresh: &Fresh<Stores>) {
    let version = granted(&fresh.one, alice(), &grant(1)).await;
    // The second round takes over the claim of the first.
    for (until, dead) in [(100, None), (200, Some(at(100)))] {
        let claims = fresh
            .concurrently(move |_, stores| async move {
                stores.grants.claim_refresh(alice(), version, at(until), dead).await.unwrap()
            })
            .await;
        let (granted, held): (Vec<_>, Vec<_>) = claims.into_iter().partition(|claimed| *claimed == Granted);
        assert_eq!(granted.len(), 1);
        assert!(held.iter().all(|claimed| *claimed == Held(at(until))), "{held:?}");
    }
}

async fn exactly_one_concurrent_update_succeeds(fresh: &Fresh<Stores>) {
    let version = granted(&fresh.one, alice(), &grant(1000)).await;
    let attempts = fresh
        .concurrently(move |number, stores| async move {
            let updated = stores.grants.update(alice(), version, &grant(number), ClaimAfter::Released).await;
            updated.map(|version| Grant { version, content: grant(number) }).map_err(|error| error.kind)
        })
        .await;
    let (won, lost): (Vec<_>, Vec<_>) = attempts.into_iter().partition(Result::is_ok);
    assert!(lost.iter().all(|attempt| *attempt == Err(StoreErrorKind::Conflict)));
    assert_eq!(won, [Ok(fresh.one.grants.find(alice()).await.unwrap().unwrap())]);
}

/// Without a session the grant is unused.
async fn exactly_one_concurrent_removal_succeeds(fresh: &Fresh<Stores>) {
    let version = granted(&fresh.one, alice(), &grant(1)).await;
    let removed = fresh
        .concurrently(
            move |_, stores| async move { stores.grants.remove_unused(alice(), version).await.unwrap() },
        )
        .await;
    assert_eq!(removed.into_iter().filter(|removed| *removed).count(), 1);
    assert_eq!(fresh.one.grants.find(alice()).await.unwrap(), None);
}

async fn a_grant_is_unused_once_its_user_has_no_session(fresh: &Fresh<Stores>) {
    let (stores, grants, other) = (&fresh.one, &fresh.one.grants, user_id(2));
    let unused =
        async || fresh.shows(async |stores| stores.grants.unused(None, NonZeroU32::MAX).await.unwrap()).await;
    assert_eq!(unused().await, []);
    assert!(!grants.remove_unused(alice(), GrantVersion(1)).await.unwrap());
    for (number, user) in [(1, alice()), (2, alice()), (3, other)] {
        begin(stores, &session(number, user, at(0)), &grant(number)).await;
    }
    let [kept, theirs] = [alice(), other].map(|user| grants.find(user));
    let (kept, theirs) = (kept.await.unwrap().unwrap(), theirs.await.unwrap().unwrap());
    // A store has no clock, so an ended session counts until it is removed.
    for session in [1, 2].map(|number| session(number, alice(), at(0))) {
        assert_eq!(unused().await, []);
        assert!(!grants.remove_unused(alice(), kept.version).await.unwrap());
        assert_eq!(found(fresh, alice()).await.as_ref(), Some(&kept));
        let ended = Cutoffs { created: at(0), ..NONE_ENDED };
        stores.sessions.expire(&session.id, ended).await.unwrap().unwrap();
    }
    assert_eq!(unused().await, [alice()]);
    assert!(grants.remove_unused(alice(), kept.version).await.unwrap());
    assert!(!grants.remove_unused(other, theirs.version).await.unwrap());
    assert_eq!((found(fresh, alice()).await, unused().await), (None, vec![]));
    assert_eq!(found(fresh, other).await, Some(theirs));
}

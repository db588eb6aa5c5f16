//! The contract of a [`GrantStore`]: contents, versions and claims. For its relation to sessions see
//! [`sessions_and_grants`](super::sessions_and_grants).

use super::{
    Damage, Fresh,
    concurrency::{all_of, cancelled, pages},
    sample::{BEYOND_SIGNED, LOTS, at, grant, membership, named_guild, profile, user_id},
};
use companion_domain::{
    model::{GuildList, Membership, UserId},
    port::{
        ClaimAfter,
        Claimed::{self, Gone, Granted, Held},
        Grant, GrantContent, GrantStore, GrantVersion, Sealed, StoreErrorKind,
    },
};
use std::{
    collections::{BTreeSet, HashMap},
    num::NonZeroU32,
    sync::Arc,
};

suite! {
    /// Generates one test per behaviour of a `GrantStore`.
    grant_store_conformance($): grant_store, dyn GrantStore;
    a_grant_is_found_as_it_was_last_written,
    only_the_current_version_is_updated_or_removed,
    users_are_separate,
    pages_list_each_holder_once,
    profiles_are_those_of_users_with_a_grant,
    a_cancelled_write_is_complete_or_absent,
    a_write_does_not_block_the_polling_thread,
    an_unreadable_grant_is_corrupt_and_can_be_replaced,
    a_claim_is_held_until_it_is_released_or_taken_over,
    a_claim_is_for_one_version_of_one_grant,
    an_update_keeps_or_ends_the_claim_as_requested,
    exactly_one_concurrent_claim_succeeds,
    exactly_one_concurrent_update_succeeds,
    exactly_one_concurrent_removal_succeeds,
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

async fn a_grant_is_found_as_it_was_last_written(fresh: &Fresh<Port>) {
    let mut last = None;
    for content in contents() {
        // Writing equal content counts as a write, too.
        for updates in [false, true] {
            let version = match last.filter(|_| updates) {
                Some(current) => {
                    fresh.one.update(alice(), current, &content, ClaimAfter::Released).await.unwrap()
                }
                None => fresh.one.replace(alice(), &content).await.unwrap(),
            };
            assert!(Some(version) > last, "{version:?} after {last:?}");
            let expected = Some(Grant { version, content: content.clone() });
            assert_eq!(fresh.shows(async |store| store.find(alice()).await.unwrap()).await, expected);
            last = Some(version);
        }
    }
}

async fn only_the_current_version_is_updated_or_removed(fresh: &Fresh<Port>) {
    let store = &fresh.one;
    let refuses = async |version| {
        let before = store.find(alice()).await.unwrap();
        let refused = store.update(alice(), version, &grant(3), ClaimAfter::Released).await.unwrap_err();
        assert_eq!(refused.kind, StoreErrorKind::Conflict);
        assert!(!store.remove(alice(), version).await.unwrap());
        store.release_claim(alice(), version).await.unwrap();
        assert_eq!(store.claim_refresh(alice(), version, at(30), None).await.unwrap(), Gone);
        assert_eq!(fresh.shows(async |store| store.find(alice()).await.unwrap()).await, before);
    };
    refuses(GrantVersion(1)).await;
    let stale = store.replace(alice(), &grant(1)).await.unwrap();
    let version = store.replace(alice(), &grant(2)).await.unwrap();
    assert_eq!(store.claim_refresh(alice(), version, at(10), None).await.unwrap(), Granted);
    for wrong in [stale, GrantVersion(version.0 + 1000)] {
        refuses(wrong).await;
        let claimed = store.claim_refresh(alice(), version, at(20), None).await.unwrap();
        assert_eq!(claimed, Held(at(10)), "the claim is held still");
    }
    assert!(store.remove(alice(), version).await.unwrap());
    assert_eq!(fresh.shows(async |store| store.find(alice()).await.unwrap()).await, None);
    refuses(version).await;
}

async fn users_are_separate(fresh: &Fresh<Port>) {
    let store = &fresh.one;
    let users = [1, 2, BEYOND_SIGNED, BEYOND_SIGNED + 1, u64::MAX].map(user_id);
    let mut written = Vec::new();
    for (number, user) in (1..).zip(users) {
        let content = grant(number);
        let version = store.replace(user, &content).await.unwrap();
        written.push((user, Grant { version, content }));
    }
    let version =
        store.update(alice(), written.remove(0).1.version, &grant(9), ClaimAfter::Kept).await.unwrap();
    assert_eq!(store.claim_refresh(alice(), version, at(10), None).await.unwrap(), Granted);
    assert!(store.remove(alice(), version).await.unwrap());
    for (user, grant) in written {
        let claimed = store.claim_refresh(user, grant.version, at(10), None).await.unwrap();
        assert_eq!(claimed, Granted, "{user}");
        assert_eq!(store.find(user).await.unwrap(), Some(grant), "{user}");
    }
}

async fn profiles_are_those_of_users_with_a_grant(fresh: &Fresh<Port>) {
    let (named, nameless, gone) = (user_id(u64::MAX), user_id(2), user_id(3));
    fresh.one.replace(named, &grant(7)).await.unwrap();
    fresh.one.replace(nameless, &GrantContent { profile: None, ..grant(8) }).await.unwrap();
    let version = fresh.one.replace(gone, &grant(9)).await.unwrap();
    fresh.one.remove(gone, version).await.unwrap();
    for (asked, expected) in [
        (BTreeSet::from([named, nameless, gone, user_id(4)]), HashMap::from([(named, profile(7))])),
        (BTreeSet::new(), HashMap::new()),
    ] {
        assert_eq!(fresh.shows(async |store| store.profiles(&asked).await.unwrap()).await, expected);
    }
}

async fn pages_list_each_holder_once(fresh: &Fresh<Port>) {
    let content = grant(1);
    let all: Vec<_> = (1..=LOTS).chain([BEYOND_SIGNED - 1, BEYOND_SIGNED, u64::MAX]).map(user_id).collect();
    let written = all_of(all.iter().map(|user| fresh.one.replace(*user, &content))).await;
    assert!(written.into_iter().all(|version| version.is_ok()));
    let page = async |store: &Arc<Port>, after, limit| store.holders(after, limit).await.unwrap();
    let remove = async |user| {
        let version = fresh.one.find(user).await.unwrap().unwrap().version;
        assert!(fresh.one.remove(user, version).await.unwrap());
    };
    pages_list_each_once(fresh, &all, page, remove).await;
}

/// Asserts that pages of any length list each of these users once, through both handles, also if a reader of all removes
/// those it has read.
pub(super) async fn pages_list_each_once<P: ?Sized>(
    fresh: &Fresh<P>,
    all: &[UserId],
    page: impl AsyncFn(&Arc<P>, Option<UserId>, NonZeroU32) -> Vec<UserId>,
    remove: impl AsyncFn(UserId),
) {
    fresh
        .through_both(async |store| {
            for limit in [97, 500, u32::MAX] {
                let page = async |after, limit| page(store, after, limit).await;
                let mut listed = pages(limit, page, async |_| {}).await;
                listed.sort_unstable();
                assert_eq!(listed, all, "pages of {limit}");
            }
        })
        .await;
    let page = async |after, limit| page(&fresh.one, after, limit).await;
    let mut listed = pages(97, page, remove).await;
    listed.sort_unstable();
    assert_eq!(listed, all, "each once, though some are removed in between");
}

async fn a_cancelled_write_is_complete_or_absent(fresh: &Fresh<Port>) {
    let user = |number: u64| user_id(number + 1);
    let ready = async |store: &Arc<Port>, number| store.replace(user(number), &grant(1)).await.unwrap();
    let look =
        async |store: &Arc<Port>, number| store.find(user(number)).await.unwrap().map(|found| found.content);
    let further = async |store: &Arc<Port>| store.replace(user_id(u64::MAX), &grant(1)).await.unwrap();
    let write = async |store: &Arc<Port>, number| store.replace(user(number), &grant(2)).await.unwrap();
    cancelled(fresh, "a replacement", ready, write, look, further).await;
    let write = async |store: &Arc<Port>, number| {
        let version = store.find(user(number)).await.unwrap().unwrap().version;
        store.update(user(number), version, &grant(2), ClaimAfter::Released).await.unwrap();
    };
    cancelled(fresh, "an update", ready, write, look, further).await;
}

async fn a_write_does_not_block_the_polling_thread(fresh: &Fresh<Port>) {
    fresh.waits_elsewhere(async |store| store.replace(user_id(1), &grant(1)).await.unwrap()).await;
}

async fn an_unreadable_grant_is_corrupt_and_can_be_replaced(fresh: &Fresh<Port>) {
    for user in [1, 2, 3] {
        fresh.one.replace(user_id(user), &grant(user)).await.unwrap();
    }
    if !fresh.damage([Damage::Grant(user_id(1)), Damage::GuildList(user_id(2))]).await {
        return;
    }
    let found = async |user| {
        let find = async |store: &Arc<Port>| store.find(user_id(user)).await.map_err(|error| error.kind);
        fresh.shows(find).await.map(|found| found.map(|grant| grant.content))
    };
    let corrupt = Err(StoreErrorKind::Corrupt);
    assert_eq!(found(1).await, corrupt, "no session ends by an unreadable grant");
    assert_eq!(found(2).await, Ok(Some(GrantContent { list: None, ..grant(2) })));
    assert_eq!(found(3).await, Ok(Some(grant(3))));
    let holders = fresh.shows(async |store| store.holders(None, NonZeroU32::MAX).await.unwrap().len()).await;
    assert_eq!(holders, 3, "each is still there");
    fresh.one.replace(user_id(1), &grant(1)).await.unwrap();
    assert_eq!(found(1).await, Ok(Some(grant(1))));
}

async fn claim(fresh: &Fresh<Port>, version: GrantVersion, until: i64) -> Claimed {
    fresh.one.claim_refresh(alice(), version, at(until), None).await.unwrap()
}

/// Claims as a node that considers the holder of the claim ending at `dead` dead.
async fn take_over(fresh: &Fresh<Port>, version: GrantVersion, until: i64, dead: i64) -> Claimed {
    fresh.one.claim_refresh(alice(), version, at(until), Some(at(dead))).await.unwrap()
}

/// A store has no clock: no date ends a claim.
async fn a_claim_is_held_until_it_is_released_or_taken_over(fresh: &Fresh<Port>) {
    const FAR: i64 = 1_000_000_000_000;
    let version = fresh.one.replace(alice(), &grant(1)).await.unwrap();
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
        let claimed = fresh.one.claim_refresh(alice(), version, at(until), dead).await.unwrap();
        assert_eq!(claimed, expected, "{why}");
    }
    for date in [0, FAR, -FAR] {
        fresh.other.release_claim(alice(), version).await.unwrap();
        assert_eq!(claim(fresh, version, date).await, Granted, "{date}");
        let elsewhere = fresh.other.claim_refresh(alice(), version, at(11), None).await.unwrap();
        assert_eq!(elsewhere, Held(at(date)), "{date}");
    }
    let found = fresh.one.find(alice()).await.unwrap();
    assert_eq!(found, Some(Grant { version, content: grant(1) }), "a claim writes nothing");
}

async fn a_claim_is_for_one_version_of_one_grant(fresh: &Fresh<Port>) {
    let version = fresh.one.replace(alice(), &grant(1)).await.unwrap();
    let never = GrantVersion(version.0 + 1000);
    let theirs = fresh.one.replace(user_id(2), &grant(2)).await.unwrap();
    assert_eq!(fresh.one.claim_refresh(user_id(2), theirs, at(10), None).await.unwrap(), Granted);
    assert_eq!(claim(fresh, never, 10).await, Gone);
    fresh.one.release_claim(alice(), version).await.unwrap();
    assert_eq!(claim(fresh, version, 10).await, Granted, "no other version or user is in the way");
    assert_eq!(take_over(fresh, never, 20, 10).await, Gone);
    fresh.one.release_claim(alice(), never).await.unwrap();
    fresh.one.release_claim(user_id(2), version).await.unwrap();
    assert_eq!(claim(fresh, version, 30).await, Held(at(10)), "no other release ends it");
    let new = fresh.one.replace(alice(), &grant(2)).await.unwrap();
    assert_eq!(claim(fresh, version, 100).await, Gone);
    assert_eq!(claim(fresh, new, 100).await, Granted, "a new sign-in ends the claim on the old grant");
    assert!(fresh.one.remove(alice(), new).await.unwrap());
    assert_eq!(claim(fresh, new, 200).await, Gone);
    let newest = fresh.one.replace(alice(), &grant(3)).await.unwrap();
    assert_eq!(claim(fresh, newest, 100).await, Granted);
}

async fn an_update_keeps_or_ends_the_claim_as_requested(fresh: &Fresh<Port>) {
    let first = fresh.one.replace(alice(), &grant(1)).await.unwrap();
    assert_eq!(claim(fresh, first, 100).await, Granted);
    let second = fresh.one.update(alice(), first, &grant(2), ClaimAfter::Kept).await.unwrap();
    assert_eq!(claim(fresh, second, 200).await, Held(at(100)), "the same claim, on the new version");
    assert_eq!(take_over(fresh, second, 200, 99).await, Held(at(100)), "this is another claim");
    assert_eq!(take_over(fresh, second, 200, 100).await, Granted, "it is known by its end as before");
    let third = fresh.one.update(alice(), second, &grant(3), ClaimAfter::Released).await.unwrap();
    assert_eq!(claim(fresh, third, 200).await, Granted);
    let fourth = fresh.one.update(alice(), third, &grant(4), ClaimAfter::Kept).await.unwrap();
    fresh.one.release_claim(alice(), fourth).await.unwrap();
    assert_eq!(claim(fresh, fourth, 200).await, Granted);
}

async fn exactly_one_concurrent_claim_succeeds(fresh: &Fresh<Port>) {
    let version = fresh.one.replace(alice(), &grant(1)).await.unwrap();
    // The second round takes over the claim of the first.
    for (until, dead) in [(100, None), (200, Some(at(100)))] {
        let claims = fresh
            .concurrently(move |_, store| async move {
                store.claim_refresh(alice(), version, at(until), dead).await.unwrap()
            })
            .await;
        let (granted, held): (Vec<_>, Vec<_>) = claims.into_iter().partition(|claimed| *claimed == Granted);
        assert_eq!(granted.len(), 1);
        assert!(held.iter().all(|claimed| *claimed == Held(at(until))), "{held:?}");
    }
}

async fn exactly_one_concurrent_update_succeeds(fresh: &Fresh<Port>) {
    let version = fresh.one.replace(alice(), &grant(1000)).await.unwrap();
    let attempts = fresh
        .concurrently(move |number, store| async move {
            let updated = store.update(alice(), version, &grant(number), ClaimAfter::Released).await;
            updated.map(|version| Grant { version, content: grant(number) }).map_err(|error| error.kind)
        })
        .await;
    let (won, lost): (Vec<_>, Vec<_>) = attempts.into_iter().partition(Result::is_ok);
    assert!(lost.iter().all(|attempt| *attempt == Err(StoreErrorKind::Conflict)));
    assert_eq!(won, [Ok(fresh.one.find(alice()).await.unwrap().unwrap())]);
}

/// Without a session the grant is unused.
async fn exactly_one_concurrent_removal_succeeds(fresh: &Fresh<Port>) {
    let version = fresh.one.replace(alice(), &grant(1)).await.unwrap();
    let removed = fresh
        .concurrently(move |_, store| async move { store.remove_unused(alice(), version).await.unwrap() })
        .await;
    assert_eq!(removed.into_iter().filter(|removed| *removed).count(), 1);
    assert_eq!(fresh.one.find(alice()).await.unwrap(), None);
}

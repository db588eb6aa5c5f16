//! The contract of a [`GrantStore`], except its relation to sessions: see
//! [`sessions_and_grants`](super::sessions_and_grants).

mod claims;

use self::claims::{USER, alice, another};
use super::{
    Damage, Fresh,
    sample::{BEYOND_SIGNED, at, grant, guild_id, named_guild, profile, user_id},
};
use companion_domain::{
    model::{GuildList, Membership, PlatformPermissions, UserId},
    port::{ClaimAfter, Claimed, Grant, GrantContent, GrantStore, GrantVersion, Sealed, StoreErrorKind},
};
use std::{
    collections::{BTreeSet, HashMap},
    num::NonZeroU32,
};

suite! {
    /// Generates one test per behaviour of a `GrantStore`.
    grant_store_conformance($): grant_store, dyn GrantStore;
    an_unknown_grant_is_not_found,
    a_grant_is_found_as_it_was_written,
    absent_and_empty_lists_differ,
    a_long_list_keeps_its_order,
    a_replacement_overwrites_any_earlier_grant,
    every_write_has_a_higher_version,
    an_update_of_the_current_version_is_written,
    an_update_of_a_stale_version_is_a_conflict,
    only_the_current_version_can_be_removed,
    users_are_separate,
    pages_list_each_holder_once,
    profiles_are_those_of_users_with_a_grant,
    a_write_does_not_block_the_polling_thread needs Gating,
    an_unreadable_grant_is_corrupt_and_can_be_replaced needs Damaging,
    @claims {
        only_one_caller_holds_the_claim,
        a_claim_is_for_one_version_of_one_grant,
        a_claim_never_expires_by_itself,
        a_dead_claim_is_taken_over_by_naming_it,
        a_refused_claim_does_not_extend_the_held_one,
        a_released_claim_is_free_at_once,
        releasing_an_unheld_claim_does_nothing,
        a_new_grant_has_no_claim,
        an_update_keeps_or_ends_the_claim_as_requested,
        exactly_one_concurrent_claim_succeeds,
        exactly_one_concurrent_update_succeeds,
        retried_updates_are_never_lost,
        concurrent_replacements_leave_the_highest_version,
        exactly_one_concurrent_removal_succeeds,
        stores_a_large_grant_completely,
        a_page_of_holders_is_full_unless_it_is_the_last,
        paging_continues_after_a_removed_holder,
        a_cancelled_write_is_complete_or_absent,
    }
}

async fn an_unknown_grant_is_not_found(fresh: &Fresh<Port>) {
    let (store, version) = (&fresh.one, GrantVersion(1));
    assert_eq!(store.find(alice()).await.unwrap(), None);
    assert_eq!(store.claim_refresh(alice(), version, at(10), None).await.unwrap(), Claimed::Gone);
    store.release_claim(alice(), version).await.unwrap();
    let refused = store.update(alice(), version, &grant(1), ClaimAfter::Released).await.unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Conflict);
    assert!(!store.remove(alice(), version).await.unwrap());
    assert_eq!(store.find(alice()).await.unwrap(), None);
}

async fn a_grant_is_found_as_it_was_written(fresh: &Fresh<Port>) {
    let membership = |guild, owner, bits| Membership {
        guild: guild_id(guild),
        owner,
        permissions: PlatformPermissions::from_bits(bits),
    };
    let memberships = [
        membership(9, true, u64::MAX),
        membership(BEYOND_SIGNED + 5, false, BEYOND_SIGNED),
        membership(2, false, 0),
    ];
    let content = GrantContent {
        tokens: Some(Sealed::from_bytes((0..=255).collect())),
        list: Some(GuildList {
            memberships: memberships.into(),
            without_bot: vec![named_guild(9), named_guild(BEYOND_SIGNED + 4)],
            fetched_at: at(123_457),
        }),
        profile: Some(profile(1)),
    };
    let version = fresh.one.replace(alice(), &content).await.unwrap();
    fresh
        .through_both(async |store| {
            assert_eq!(store.find(alice()).await.unwrap(), Some(Grant { version, content: content.clone() }));
        })
        .await;
}

async fn absent_and_empty_lists_differ(fresh: &Fresh<Port>) {
    let no_guilds = GuildList { memberships: [].into(), without_bot: Vec::new(), fetched_at: at(1) };
    for tokens in [None, Some(Sealed::from_bytes(Vec::new()))] {
        for list in [None, Some(no_guilds.clone())] {
            let content = GrantContent { tokens: tokens.clone(), list, profile: None };
            let version = fresh.one.replace(alice(), &content).await.unwrap();
            assert_eq!(
                fresh.one.find(alice()).await.unwrap(),
                Some(Grant { version, content: content.clone() })
            );
            let version = fresh.one.update(alice(), version, &content, ClaimAfter::Released).await.unwrap();
            assert_eq!(fresh.one.find(alice()).await.unwrap(), Some(Grant { version, content }));
        }
    }
}

async fn a_long_list_keeps_its_order(fresh: &Fresh<Port>) {
    let memberships = (1..=1000).map(|number: u64| Membership {
        guild: guild_id(number * 7_919 % 1009),
        owner: number.is_multiple_of(3),
        permissions: PlatformPermissions::from_bits(number << 32),
    });
    let list = GuildList { memberships: memberships.collect(), without_bot: Vec::new(), fetched_at: at(0) };
    let content = GrantContent { list: Some(list), ..GrantContent::default() };
    fresh.one.replace(alice(), &content).await.unwrap();
    assert_eq!(fresh.one.find(alice()).await.unwrap().map(|grant| grant.content), Some(content));
}

async fn a_replacement_overwrites_any_earlier_grant(fresh: &Fresh<Port>) {
    fresh.one.replace(alice(), &grant(1)).await.unwrap();
    // A new grant with less content retains nothing of the old one.
    let version = fresh.other.replace(alice(), &GrantContent::default()).await.unwrap();
    let expected = Grant { version, content: GrantContent::default() };
    fresh.settle().await;
    assert_eq!(fresh.one.find(alice()).await.unwrap(), Some(expected));
}

async fn every_write_has_a_higher_version(fresh: &Fresh<Port>) {
    let store = &fresh.one;
    let mut last = store.replace(alice(), &grant(0)).await.unwrap();
    for number in 1..6 {
        // Writing equal content counts as a write, too.
        let version = if number % 2 == 0 {
            store.replace(alice(), &grant(0)).await.unwrap()
        } else {
            store.update(alice(), last, &grant(0), ClaimAfter::Released).await.unwrap()
        };
        assert!(version > last, "{version:?} after {last:?}");
        assert_eq!(store.find(alice()).await.unwrap(), Some(Grant { version, content: grant(0) }));
        last = version;
    }
}

async fn an_update_of_the_current_version_is_written(fresh: &Fresh<Port>) {
    let first = fresh.one.replace(alice(), &grant(1)).await.unwrap();
    let second = fresh.one.update(alice(), first, &grant(2), ClaimAfter::Released).await.unwrap();
    let expected = Grant { version: second, content: grant(2) };
    fresh.settle().await;
    assert_eq!(fresh.other.find(alice()).await.unwrap(), Some(expected));
}

async fn an_update_of_a_stale_version_is_a_conflict(fresh: &Fresh<Port>) {
    let store = &fresh.one;
    let stale = store.replace(alice(), &grant(1)).await.unwrap();
    let version = store.replace(alice(), &grant(2)).await.unwrap();
    assert_eq!(store.claim_refresh(alice(), version, at(10), None).await.unwrap(), Claimed::Granted);
    for wrong in [stale, another(version)] {
        let refused = store.update(alice(), wrong, &grant(3), ClaimAfter::Released).await.unwrap_err();
        assert_eq!(refused.kind, StoreErrorKind::Conflict);
        assert_eq!(store.find(alice()).await.unwrap(), Some(Grant { version, content: grant(2) }));
        let claimed = store.claim_refresh(alice(), version, at(20), None).await.unwrap();
        assert_eq!(claimed, Claimed::Held(at(10)), "the claim is held still");
    }
    assert!(store.remove(alice(), version).await.unwrap());
    let refused = store.update(alice(), version, &grant(3), ClaimAfter::Released).await.unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Conflict);
    assert_eq!(store.find(alice()).await.unwrap(), None, "an update never brings a grant back");
}

async fn only_the_current_version_can_be_removed(fresh: &Fresh<Port>) {
    let store = &fresh.one;
    let stale = store.replace(alice(), &grant(1)).await.unwrap();
    let version = store.update(alice(), stale, &grant(2), ClaimAfter::Released).await.unwrap();
    for wrong in [stale, another(version)] {
        assert!(!store.remove(alice(), wrong).await.unwrap());
        assert_eq!(store.find(alice()).await.unwrap(), Some(Grant { version, content: grant(2) }));
    }
    assert!(store.remove(alice(), version).await.unwrap());
    fresh.settle().await;
    assert_eq!(fresh.other.find(alice()).await.unwrap(), None);
    assert!(!store.remove(alice(), version).await.unwrap());
}

async fn users_are_separate(fresh: &Fresh<Port>) {
    let store = &fresh.one;
    let users = [USER, 2, BEYOND_SIGNED, BEYOND_SIGNED + 1, u64::MAX].map(user_id);
    let mut written = Vec::new();
    for (number, user) in (1..).zip(users) {
        let content = grant(number);
        let version = store.replace(user, &content).await.unwrap();
        written.push((user, Grant { version, content }));
    }
    let version =
        store.update(alice(), written.remove(0).1.version, &grant(9), ClaimAfter::Kept).await.unwrap();
    assert_eq!(store.claim_refresh(alice(), version, at(10), None).await.unwrap(), Claimed::Granted);
    assert!(store.remove(alice(), version).await.unwrap());
    for (user, grant) in written {
        let claimed = store.claim_refresh(user, grant.version, at(10), None).await.unwrap();
        assert_eq!(claimed, Claimed::Granted, "{user}");
        assert_eq!(store.find(user).await.unwrap(), Some(grant), "{user}");
    }
}

async fn profiles_are_those_of_users_with_a_grant(fresh: &Fresh<Port>) {
    let (named, nameless, gone) = (user_id(u64::MAX), user_id(2), user_id(3));
    fresh.one.replace(named, &grant(7)).await.unwrap();
    fresh.one.replace(nameless, &GrantContent { profile: None, ..grant(8) }).await.unwrap();
    let version = fresh.one.replace(gone, &grant(9)).await.unwrap();
    fresh.one.remove(gone, version).await.unwrap();
    let asked = BTreeSet::from([named, nameless, gone, user_id(4)]);
    fresh
        .through_both(async |store| {
            assert_eq!(store.profiles(&asked).await.unwrap(), HashMap::from([(named, profile(7))]));
            assert_eq!(store.profiles(&BTreeSet::new()).await.unwrap(), HashMap::new());
        })
        .await;
}

async fn pages_list_each_holder_once(fresh: &Fresh<Port>) {
    let store = &fresh.one;
    assert_eq!(store.holders(None, NonZeroU32::MAX).await.unwrap(), []);
    let users = [USER, 2, BEYOND_SIGNED - 1, BEYOND_SIGNED, u64::MAX].map(user_id);
    for user in users {
        store.replace(user, &grant(1)).await.unwrap();
    }
    let mut listed: Vec<UserId> = Vec::new();
    fresh.settle().await;
    while let [user] = fresh.other.holders(listed.last().copied(), NonZeroU32::MIN).await.unwrap()[..] {
        listed.push(user);
        assert!(listed.len() <= users.len(), "pages end");
    }
    assert_eq!((listed.len(), listed.iter().copied().collect::<BTreeSet<_>>()), (5, users.into()));
    assert_eq!(store.holders(None, NonZeroU32::MAX).await.unwrap(), listed);
}

async fn a_write_does_not_block_the_polling_thread(fresh: &Fresh<Port>) {
    fresh.waits_elsewhere(async |store| store.replace(user_id(1), &grant(1)).await.unwrap()).await;
}

async fn an_unreadable_grant_is_corrupt_and_can_be_replaced(fresh: &Fresh<Port>) {
    for user in [1, 2, 3] {
        fresh.one.replace(user_id(user), &grant(user)).await.unwrap();
    }
    if !fresh.damage(Damage::Grant(user_id(1))).await || !fresh.damage(Damage::GuildList(user_id(2))).await {
        return;
    }
    fresh
        .through_both(async |store| {
            let refused = store.find(user_id(1)).await.unwrap_err();
            assert_eq!(refused.kind, StoreErrorKind::Corrupt, "no session ends by an unreadable grant");
            let without_list = GrantContent { list: None, ..grant(2) };
            assert_eq!(store.find(user_id(2)).await.unwrap().map(|found| found.content), Some(without_list));
            assert_eq!(store.find(user_id(3)).await.unwrap().map(|found| found.content), Some(grant(3)));
            assert_eq!(store.holders(None, NonZeroU32::MAX).await.unwrap().len(), 3, "each is still there");
        })
        .await;
    fresh.one.replace(user_id(1), &grant(1)).await.unwrap();
    fresh
        .through_both(async |store| {
            assert_eq!(store.find(user_id(1)).await.unwrap().map(|found| found.content), Some(grant(1)));
        })
        .await;
}

//! Claims, races, and very many grants.

use crate::conformance::{
    Fresh,
    concurrency::{CALLERS, CancelledWrite, all_of},
    sample::{LOTS, at, grant, guild_id, named_guild, user_id},
};
use companion_domain::{
    model::{GuildList, Membership, PlatformPermissions, UserId},
    port::{
        ClaimAfter,
        Claimed::{self, Gone, Granted, Held},
        Grant, GrantContent, GrantStore, GrantVersion, Sealed, StoreErrorKind,
    },
};
use std::{num::NonZeroU32, sync::Arc};

async fn granted(fresh: &Fresh<dyn GrantStore>) -> GrantVersion {
    fresh.one.replace(alice(), &grant(1)).await.unwrap()
}

async fn claim(fresh: &Fresh<dyn GrantStore>, version: GrantVersion, until: i64) -> Claimed {
    fresh.one.claim_refresh(alice(), version, at(until), None).await.unwrap()
}

/// Claims as a node that considers the holder of the claim ending at `dead` dead.
async fn take_over(fresh: &Fresh<dyn GrantStore>, version: GrantVersion, until: i64, dead: i64) -> Claimed {
    fresh.one.claim_refresh(alice(), version, at(until), Some(at(dead))).await.unwrap()
}

pub(super) async fn only_one_caller_holds_the_claim(fresh: &Fresh<dyn GrantStore>) {
    let version = granted(fresh).await;
    assert_eq!(claim(fresh, version, 10).await, Granted);
    assert_eq!(claim(fresh, version, 10).await, Held(at(10)));
    let elsewhere = fresh.other.claim_refresh(alice(), version, at(11), None).await.unwrap();
    assert_eq!(elsewhere, Held(at(10)));
    let found = fresh.one.find(alice()).await.unwrap().unwrap();
    assert_eq!((found.version, found.content), (version, grant(1)), "a claim writes nothing");
}

pub(super) async fn a_claim_is_for_one_version_of_one_grant(fresh: &Fresh<dyn GrantStore>) {
    let version = granted(fresh).await;
    let theirs = fresh.one.replace(user_id(2), &grant(2)).await.unwrap();
    assert_eq!(claim(fresh, another(version), 10).await, Gone);
    assert_eq!(fresh.one.claim_refresh(user_id(2), theirs, at(10), None).await.unwrap(), Granted);
    assert_eq!(
        claim(fresh, version, 10).await,
        Granted,
        "neither a wrong version nor another user's claim is in the way"
    );
    assert_eq!(take_over(fresh, another(version), 20, 10).await, Gone);
    assert!(fresh.one.remove(alice(), version).await.unwrap());
    assert_eq!(claim(fresh, version, 30).await, Gone, "what is gone cannot be claimed");
}

/// A store has no clock: no date ends a claim.
pub(super) async fn a_claim_never_expires_by_itself(fresh: &Fresh<dyn GrantStore>) {
    let version = granted(fresh).await;
    for (date, next) in [(0, 1_000_000_000_000), (1_000_000_000_000, -1_000_000_000_000), (-5, 10)] {
        assert_eq!(claim(fresh, version, date).await, Granted, "{date}");
        assert_eq!(claim(fresh, version, next).await, Held(at(date)), "{date}");
        fresh.one.release_claim(alice(), version).await.unwrap();
    }
}

pub(super) async fn a_dead_claim_is_taken_over_by_naming_it(fresh: &Fresh<dyn GrantStore>) {
    let version = granted(fresh).await;
    assert_eq!(take_over(fresh, version, 100, 5).await, Granted, "there was none to take over");
    assert_eq!(take_over(fresh, version, 200, 99).await, Held(at(100)), "this is another claim");
    assert_eq!(take_over(fresh, version, 200, 100).await, Granted);
    assert_eq!(take_over(fresh, version, 300, 100).await, Held(at(200)), "another caller was faster");
    assert_eq!(claim(fresh, version, 300).await, Held(at(200)));
}

pub(super) async fn a_refused_claim_does_not_extend_the_held_one(fresh: &Fresh<dyn GrantStore>) {
    let version = granted(fresh).await;
    assert_eq!(claim(fresh, version, 100).await, Granted);
    assert_eq!(claim(fresh, version, 5000).await, Held(at(100)));
    assert_eq!(claim(fresh, version, 200).await, Held(at(100)));
}

pub(super) async fn a_released_claim_is_free_at_once(fresh: &Fresh<dyn GrantStore>) {
    let version = granted(fresh).await;
    assert_eq!(claim(fresh, version, 100).await, Granted);
    fresh.other.release_claim(alice(), version).await.unwrap();
    assert_eq!(claim(fresh, version, 100).await, Granted);
    assert_eq!(claim(fresh, version, 100).await, Held(at(100)));
}

pub(super) async fn releasing_an_unheld_claim_does_nothing(fresh: &Fresh<dyn GrantStore>) {
    let version = granted(fresh).await;
    fresh.one.release_claim(alice(), version).await.unwrap();
    assert_eq!(claim(fresh, version, 100).await, Granted);
    fresh.one.release_claim(alice(), another(version)).await.unwrap();
    fresh.one.release_claim(user_id(2), version).await.unwrap();
    assert_eq!(
        claim(fresh, version, 100).await,
        Held(at(100)),
        "a release of another version or user ends no claim"
    );
}

pub(super) async fn a_new_grant_has_no_claim(fresh: &Fresh<dyn GrantStore>) {
    let old = granted(fresh).await;
    assert_eq!(claim(fresh, old, 100).await, Granted);
    let new = fresh.one.replace(alice(), &grant(2)).await.unwrap();
    assert_eq!(claim(fresh, old, 100).await, Gone);
    assert_eq!(claim(fresh, new, 100).await, Granted, "a new sign-in ends the claim on the old grant");
    assert!(fresh.one.remove(alice(), new).await.unwrap());
    let newest = fresh.one.replace(alice(), &grant(3)).await.unwrap();
    assert_eq!(claim(fresh, newest, 100).await, Granted);
}

pub(super) async fn an_update_keeps_or_ends_the_claim_as_requested(fresh: &Fresh<dyn GrantStore>) {
    let first = granted(fresh).await;
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

pub(super) async fn exactly_one_concurrent_claim_succeeds(fresh: &Fresh<dyn GrantStore>) {
    let version = fresh.one.replace(alice(), &grant(1)).await.unwrap();
    // The second round takes over the claim of the first.
    for (until, dead) in [(100, None), (200, Some(at(100)))] {
        let claims = fresh
            .concurrently(move |_, store| async move {
                store.claim_refresh(alice(), version, at(until), dead).await.unwrap()
            })
            .await;
        let (granted, held): (Vec<_>, Vec<_>) =
            claims.into_iter().partition(|claimed| *claimed == Claimed::Granted);
        assert_eq!(granted.len(), 1);
        assert!(held.iter().all(|claimed| *claimed == Claimed::Held(at(until))), "{held:?}");
    }
}

pub(super) async fn exactly_one_concurrent_update_succeeds(fresh: &Fresh<dyn GrantStore>) {
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

/// Every task adds its guild to the list, and retries on a conflict.
pub(super) async fn retried_updates_are_never_lost(fresh: &Fresh<dyn GrantStore>) {
    let empty = GuildList { memberships: [].into(), without_bot: Vec::new(), fetched_at: at(0) };
    fresh.one.replace(alice(), &GrantContent { list: Some(empty), ..GrantContent::default() }).await.unwrap();
    fresh
        .concurrently(|number, store| {
            let caches = fresh.settler();
            async move {
                let permissions = PlatformPermissions::default();
                let mine = Membership { guild: guild_id(number + 1), owner: false, permissions };
                loop {
                    let found = store.find(alice()).await.unwrap().unwrap();
                    let list = found.content.list.unwrap();
                    let memberships = list.memberships.iter().copied().chain([mine]).collect();
                    let list = Some(GuildList { memberships, ..list });
                    let content = GrantContent { list, ..found.content };
                    match store.update(alice(), found.version, &content, ClaimAfter::Kept).await {
                        Ok(_) => break,
                        Err(error) => assert_eq!(error.kind, StoreErrorKind::Conflict),
                    }
                    caches.settle().await;
                }
            }
        })
        .await;
    let list = fresh.one.find(alice()).await.unwrap().unwrap().content.list.unwrap();
    let mut guilds: Vec<_> = list.memberships.iter().map(|membership| membership.guild.get()).collect();
    guilds.sort_unstable();
    assert_eq!(guilds, (1..=CALLERS).collect::<Vec<_>>());
}

pub(super) async fn concurrent_replacements_leave_the_highest_version(fresh: &Fresh<dyn GrantStore>) {
    let mut written = fresh
        .concurrently(|number, store| async move {
            (store.replace(alice(), &grant(number)).await.unwrap(), number)
        })
        .await;
    written.sort_unstable();
    assert!(
        written.windows(2).all(|pair| matches!(pair, [one, two] if one.0 < two.0)),
        "no version comes twice"
    );
    let last = written.last().map(|(version, number)| Grant { version: *version, content: grant(*number) });
    assert_eq!(fresh.one.find(alice()).await.unwrap(), last);
}

pub(super) async fn exactly_one_concurrent_removal_succeeds(fresh: &Fresh<dyn GrantStore>) {
    let version = fresh.one.replace(alice(), &grant(1)).await.unwrap();
    let removed = fresh
        .concurrently(move |_, store| async move { store.remove(alice(), version).await.unwrap() })
        .await;
    assert_eq!(removed.into_iter().filter(|removed| *removed).count(), 1);
    assert_eq!(fresh.one.find(alice()).await.unwrap(), None);
}

type Port = dyn GrantStore;

/// Tokens of any length, and a list with duplicates.
pub(super) async fn stores_a_large_grant_completely(fresh: &Fresh<Port>) {
    let membership = |number: u64| Membership {
        guild: guild_id(number % 1000 + 1),
        owner: number.is_multiple_of(7),
        permissions: PlatformPermissions::from_bits(number),
    };
    let content = |length| GrantContent {
        tokens: Some(Sealed::from_bytes((0..=255).cycle().take(length).collect())),
        list: Some(GuildList {
            memberships: (0..LOTS).map(membership).collect(),
            without_bot: (0..200).map(named_guild).collect(),
            fetched_at: at(1),
        }),
        profile: None,
    };
    let version = fresh.one.replace(alice(), &content(20_000)).await.unwrap();
    let expected = Grant { version, content: content(20_000) };
    fresh
        .through_both(async |store| assert_eq!(store.find(alice()).await.unwrap().as_ref(), Some(&expected)))
        .await;
    let version = fresh.one.update(alice(), version, &content(30_000), ClaimAfter::Kept).await.unwrap();
    let expected = Grant { version, content: content(30_000) };
    fresh
        .through_both(async |store| assert_eq!(store.find(alice()).await.unwrap().as_ref(), Some(&expected)))
        .await;
}

async fn granted_to_many(store: &Port, users: impl IntoIterator<Item = u64>) {
    let content = grant(1);
    let written = all_of(users.into_iter().map(|user| store.replace(user_id(user), &content))).await;
    assert!(written.into_iter().all(|version| version.is_ok()));
}

pub(super) async fn a_page_of_holders_is_full_unless_it_is_the_last(fresh: &Fresh<Port>) {
    granted_to_many(&*fresh.one, 1..=LOTS).await;
    fresh
        .through_both(async |store| {
            let mut listed: Vec<UserId> = Vec::new();
            for expected in [500, 500, 203, 0] {
                let page =
                    store.holders(listed.last().copied(), NonZeroU32::new(500).unwrap()).await.unwrap();
                assert_eq!(page.len(), expected);
                listed.extend(page);
            }
            assert_eq!(store.holders(None, NonZeroU32::MAX).await.unwrap(), listed);
            listed.sort_unstable();
            assert_eq!(listed, (1..=LOTS).map(user_id).collect::<Vec<_>>());
        })
        .await;
}

/// A reader of all grants may remove some in between.
pub(super) async fn paging_continues_after_a_removed_holder(fresh: &Fresh<Port>) {
    let (store, two) = (&fresh.one, NonZeroU32::new(2).unwrap());
    granted_to_many(&**store, 1..=7).await;
    let mut listed: Vec<UserId> = Vec::new();
    loop {
        let page = store.holders(listed.last().copied(), two).await.unwrap();
        let Some(last) = page.last().copied() else { break };
        listed.extend(page);
        assert!(listed.len() <= 7, "pages end: {listed:?}");
        let version = store.find(last).await.unwrap().unwrap().version;
        assert!(store.remove(last, version).await.unwrap());
    }
    listed.sort_unstable();
    assert_eq!(listed, (1..=7).map(user_id).collect::<Vec<_>>(), "each once");
}

pub(super) async fn a_cancelled_write_is_complete_or_absent(fresh: &Fresh<Port>) {
    let user = |number: u64| user_id(number + 1);
    let ready = async |store: &Arc<Port>, number| store.replace(user(number), &grant(1)).await.unwrap();
    let look =
        async |store: &Arc<Port>, number| store.find(user(number)).await.unwrap().map(|found| found.content);
    let further = async |store: &Arc<Port>| store.replace(user_id(u64::MAX), &grant(1)).await.unwrap();
    let write = async |store: &Arc<Port>, number| store.replace(user(number), &grant(2)).await.unwrap();
    CancelledWrite { fresh, what: "a replacement", ready, write, look, further }
        .leaves_all_or_nothing()
        .await;
    let write = async |store: &Arc<Port>, number| {
        let version = store.find(user(number)).await.unwrap().unwrap().version;
        store.update(user(number), version, &grant(2), ClaimAfter::Released).await.unwrap();
    };
    CancelledWrite { fresh, what: "an update", ready, write, look, further }.leaves_all_or_nothing().await;
}

pub(super) const USER: u64 = 1;

pub(super) fn alice() -> UserId {
    user_id(USER)
}

/// Returns a version that this grant never had.
pub(super) const fn another(version: GrantVersion) -> GrantVersion {
    GrantVersion(version.0 + 1000)
}

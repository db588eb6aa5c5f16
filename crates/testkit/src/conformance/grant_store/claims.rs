//! Claims and races.

use super::Port;
use crate::conformance::{
    Fresh,
    sample::{at, grant, user_id},
};
use companion_domain::{
    model::UserId,
    port::{
        ClaimAfter,
        Claimed::{self, Gone, Granted, Held},
        Grant, GrantVersion, StoreErrorKind,
    },
};

async fn claim(fresh: &Fresh<Port>, version: GrantVersion, until: i64) -> Claimed {
    fresh.one.claim_refresh(alice(), version, at(until), None).await.unwrap()
}

/// Claims as a node that considers the holder of the claim ending at `dead` dead.
async fn take_over(fresh: &Fresh<Port>, version: GrantVersion, until: i64, dead: i64) -> Claimed {
    fresh.one.claim_refresh(alice(), version, at(until), Some(at(dead))).await.unwrap()
}

/// A store has no clock: no date ends a claim.
pub(super) async fn a_claim_is_held_until_it_is_released_or_taken_over(fresh: &Fresh<Port>) {
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

pub(super) async fn a_claim_is_for_one_version_of_one_grant(fresh: &Fresh<Port>) {
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

pub(super) async fn an_update_keeps_or_ends_the_claim_as_requested(fresh: &Fresh<Port>) {
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

pub(super) async fn exactly_one_concurrent_claim_succeeds(fresh: &Fresh<Port>) {
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

pub(super) async fn exactly_one_concurrent_update_succeeds(fresh: &Fresh<Port>) {
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

pub(super) async fn concurrent_replacements_leave_the_highest_version(fresh: &Fresh<Port>) {
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

/// Without a session the grant is unused.
pub(super) async fn exactly_one_concurrent_removal_succeeds(fresh: &Fresh<Port>) {
    for if_unused in [false, true] {
        let version = fresh.one.replace(alice(), &grant(1)).await.unwrap();
        let removed = fresh
            .concurrently(move |_, store| async move {
                match if_unused {
                    true => store.remove_unused(alice(), version).await.unwrap(),
                    false => store.remove(alice(), version).await.unwrap(),
                }
            })
            .await;
        assert_eq!(removed.into_iter().filter(|removed| *removed).count(), 1, "if unused: {if_unused}");
        assert_eq!(fresh.one.find(alice()).await.unwrap(), None);
    }
}

pub(super) fn alice() -> UserId {
    user_id(1)
}

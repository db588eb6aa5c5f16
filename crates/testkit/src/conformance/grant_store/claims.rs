//! The claim to refresh a grant.

use super::common::{alice, another};
use crate::conformance::{
    Fresh,
    sample::{at, grant, user_id},
};
use companion_domain::port::GrantStore;
use companion_domain::port::{
    ClaimAfter,
    Claimed::{self, Gone, Granted, Held},
    GrantVersion,
};

async fn granted(fresh: &Fresh<dyn GrantStore>) -> GrantVersion {
    fresh.one.replace(alice(), &grant(1)).await.unwrap()
}

async fn claim(fresh: &Fresh<dyn GrantStore>, version: GrantVersion, until: i64) -> Claimed {
    fresh.one.claim_refresh(alice(), version, at(until), None).await.unwrap()
}

/// Claims as someone who takes the holder of the claim that ends at `dead` for dead.
async fn take_over(fresh: &Fresh<dyn GrantStore>, version: GrantVersion, until: i64, dead: i64) -> Claimed {
    fresh.one.claim_refresh(alice(), version, at(until), Some(at(dead))).await.unwrap()
}

pub(super) async fn only_one_holds_the_claim(fresh: &Fresh<dyn GrantStore>) {
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

/// A store knows no clock: neither the past nor the future ends a claim.
pub(super) async fn a_claim_stands_whatever_its_date(fresh: &Fresh<dyn GrantStore>) {
    let version = granted(fresh).await;
    for (date, next) in [(0, 1_000_000_000_000), (1_000_000_000_000, -1_000_000_000_000), (-5, 10)] {
        assert_eq!(claim(fresh, version, date).await, Granted, "{date}");
        assert_eq!(claim(fresh, version, next).await, Held(at(date)), "{date}");
        fresh.one.release_claim(alice(), version).await.unwrap();
    }
}

pub(super) async fn a_claim_of_the_dead_is_taken_over_by_who_names_it(fresh: &Fresh<dyn GrantStore>) {
    let version = granted(fresh).await;
    assert_eq!(take_over(fresh, version, 100, 5).await, Granted, "there was none to take over");
    assert_eq!(take_over(fresh, version, 200, 99).await, Held(at(100)), "this is another claim");
    assert_eq!(take_over(fresh, version, 200, 100).await, Granted);
    assert_eq!(take_over(fresh, version, 300, 100).await, Held(at(200)), "someone was quicker");
    assert_eq!(claim(fresh, version, 300).await, Held(at(200)));
}

pub(super) async fn a_refused_claim_does_not_prolong_the_one_held(fresh: &Fresh<dyn GrantStore>) {
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

pub(super) async fn releasing_what_is_not_held_does_nothing(fresh: &Fresh<dyn GrantStore>) {
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

pub(super) async fn a_claim_goes_on_or_ends_with_an_update_as_told(fresh: &Fresh<dyn GrantStore>) {
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

//! The claim to refresh a grant.

use super::{Port, alice, another};
use crate::conformance::{
    Fresh,
    sample::{at, grant, user_id},
};
use companion_domain::port::{ClaimAfter, GrantVersion};

async fn granted(fresh: &Fresh<Port>) -> GrantVersion {
    fresh.one.replace(alice(), &grant(1)).await.unwrap()
}

async fn claim(fresh: &Fresh<Port>, version: GrantVersion, now: i64, until: i64) -> bool {
    fresh.one.claim_refresh(alice(), version, at(now), at(until)).await.unwrap()
}

pub(super) async fn only_one_holds_the_claim(fresh: &Fresh<Port>) {
    let version = granted(fresh).await;
    assert!(claim(fresh, version, 0, 10).await);
    assert!(!claim(fresh, version, 0, 10).await);
    assert!(!fresh.other.claim_refresh(alice(), version, at(1), at(11)).await.unwrap());
    let found = fresh.one.find(alice()).await.unwrap().unwrap();
    assert_eq!((found.version, found.content), (version, grant(1)), "a claim writes nothing");
}

pub(super) async fn a_claim_is_for_one_version_of_one_grant(fresh: &Fresh<Port>) {
    let version = granted(fresh).await;
    let theirs = fresh.one.replace(user_id(2), &grant(2)).await.unwrap();
    assert!(!claim(fresh, another(version), 0, 10).await);
    assert!(fresh.one.claim_refresh(user_id(2), theirs, at(0), at(10)).await.unwrap());
    assert!(
        claim(fresh, version, 0, 10).await,
        "neither a wrong version nor another user's claim is in the way"
    );
    assert!(fresh.one.remove(alice(), version).await.unwrap());
    assert!(!claim(fresh, version, 20, 30).await, "what is gone cannot be claimed");
}

pub(super) async fn a_claim_holds_to_its_last_microsecond_and_not_longer(fresh: &Fresh<Port>) {
    let version = granted(fresh).await;
    assert!(claim(fresh, version, 0, 100).await);
    assert!(!claim(fresh, version, 99, 200).await);
    assert!(claim(fresh, version, 100, 200).await);
    assert!(!claim(fresh, version, 199, 300).await);
    assert!(claim(fresh, version, 200, 300).await);
}

pub(super) async fn a_refused_claim_does_not_prolong_the_one_held(fresh: &Fresh<Port>) {
    let version = granted(fresh).await;
    assert!(claim(fresh, version, 0, 100).await);
    assert!(!claim(fresh, version, 50, 5000).await);
    assert!(claim(fresh, version, 100, 200).await);
}

pub(super) async fn a_released_claim_is_free_at_once(fresh: &Fresh<Port>) {
    let version = granted(fresh).await;
    assert!(claim(fresh, version, 0, 100).await);
    fresh.other.release_claim(alice(), version).await.unwrap();
    assert!(claim(fresh, version, 1, 100).await);
    assert!(!claim(fresh, version, 2, 100).await);
}

pub(super) async fn releasing_what_is_not_held_does_nothing(fresh: &Fresh<Port>) {
    let version = granted(fresh).await;
    fresh.one.release_claim(alice(), version).await.unwrap();
    assert!(claim(fresh, version, 0, 100).await);
    fresh.one.release_claim(alice(), another(version)).await.unwrap();
    fresh.one.release_claim(user_id(2), version).await.unwrap();
    assert!(!claim(fresh, version, 1, 100).await, "a release of another version or user ends no claim");
}

pub(super) async fn a_new_grant_has_no_claim(fresh: &Fresh<Port>) {
    let old = granted(fresh).await;
    assert!(claim(fresh, old, 0, 100).await);
    let new = fresh.one.replace(alice(), &grant(2)).await.unwrap();
    assert!(!claim(fresh, old, 1, 100).await);
    assert!(claim(fresh, new, 1, 100).await, "a new sign-in ends the claim on the old grant");
    assert!(fresh.one.remove(alice(), new).await.unwrap());
    let newest = fresh.one.replace(alice(), &grant(3)).await.unwrap();
    assert!(claim(fresh, newest, 2, 100).await);
}

pub(super) async fn a_claim_goes_on_or_ends_with_an_update_as_told(fresh: &Fresh<Port>) {
    let first = granted(fresh).await;
    assert!(claim(fresh, first, 0, 100).await);
    let second = fresh.one.update(alice(), first, &grant(2), ClaimAfter::Kept).await.unwrap();
    assert!(!claim(fresh, second, 99, 200).await, "the claim goes on, on the new version");
    assert!(claim(fresh, second, 100, 200).await, "and no longer than it was made for");
    let third = fresh.one.update(alice(), second, &grant(3), ClaimAfter::Released).await.unwrap();
    assert!(claim(fresh, third, 101, 200).await);
    let fourth = fresh.one.update(alice(), third, &grant(4), ClaimAfter::Kept).await.unwrap();
    fresh.one.release_claim(alice(), fourth).await.unwrap();
    assert!(claim(fresh, fourth, 102, 200).await);
}

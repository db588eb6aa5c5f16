//! Unused grants are revoked, users are forgotten, and grants are resealed with the newest key.

use crate::use_cases::{GUILD, MINUTE, SECOND, Stage, USER};
use companion_domain::{
    port::{Claimed, GrantStore, IdentityErrorKind, Record, StoreErrorKind},
    usecase::{Resealed, SignInError},
};
use companion_storage_memory::IdentityCall;
use companion_testkit::{
    api::service::{Fault, Faulty},
    over::Over,
    use_cases::{UseCases, settings},
    vault::TestVault,
    world::{a_user, an_ownership, user_id},
};
use std::{num::NonZeroU32, sync::Arc, time::Duration};
use tokio::time::Instant;

const ALL: NonZeroU32 = NonZeroU32::MAX;
const ONE: NonZeroU32 = NonZeroU32::MIN;

impl Stage {
    async fn is_stored(&self, user: u64) -> bool {
        GrantStore::find(&*self.memory.storage, user_id(user)).await.unwrap().is_some()
    }

    /// Signs a user in and out while revocation fails.
    async fn signed_out_in_vain(&self, user: u64) {
        self.signs_in(user, vec![]).await;
        self.memory.identity.fail_with(IdentityCall::Revoke, Some(IdentityErrorKind::Unreachable));
        self.use_cases.sessions.revoke_user(user_id(user)).await.unwrap();
        self.memory.scheduler.settled().await;
    }

    /// Makes revocation work again.
    fn recovers(&self) {
        self.memory.identity.fail_with(IdentityCall::Revoke, None);
    }

    fn revocations(&self) -> u64 {
        self.memory.identity.calls(IdentityCall::Revoke)
    }
}

#[tokio::test]
async fn sign_out_does_not_wait_for_the_platform() {
    let stage = Stage::new();
    let signed_in = stage.signs_in(USER, vec![]).await;
    let held = stage.memory.identity.hold(IdentityCall::Revoke);
    assert!(stage.use_cases.sessions.sign_out(signed_in.token.expose()).await.unwrap().is_some());
    stage.memory.identity.called(IdentityCall::Revoke, 1).await;
    assert!(stage.memory.identity.is_authorised(user_id(USER)));
    drop(held);
    stage.memory.scheduler.settled().await;
    assert!(!stage.memory.identity.is_authorised(user_id(USER)) && !stage.is_stored(USER).await);
}

#[tokio::test]
async fn retries_failed_revocations_in_later_rounds() {
    let stage = Stage::new();
    stage.signed_out_in_vain(USER).await;
    assert!(stage.is_stored(USER).await);
    stage.recovers();
    // Any node can continue.
    let another = stage.another_node().revoke_unused;
    assert_eq!(another.round(None, ALL).await.unwrap(), None);
    assert_eq!(stage.revocations(), 2);
    assert!(!stage.memory.identity.is_authorised(user_id(USER)) && !stage.is_stored(USER).await);
    assert_eq!(another.round(None, ALL).await.unwrap(), None);
    assert_eq!(stage.revocations(), 2);
}

#[tokio::test]
async fn a_round_stops_at_a_failure_and_the_next_continues_after_it() {
    let stage = Stage::new();
    for user in [USER, USER + 1, USER + 2] {
        stage.signed_out_in_vain(user).await;
    }
    stage.recovers();
    stage.memory.identity.fail_with(IdentityCall::Revoke, Some(IdentityErrorKind::Failed));
    let tried = stage.revocations();
    let revoke_unused = &stage.use_cases.revoke_unused;
    assert_eq!(revoke_unused.round(None, ALL).await.unwrap(), Some(user_id(USER)));
    assert_eq!(stage.revocations(), tried + 1);
    stage.memory.identity.fail_with(IdentityCall::Revoke, None);
    assert_eq!(revoke_unused.round(Some(user_id(USER)), ONE).await.unwrap(), Some(user_id(USER + 1)));
    assert_eq!(revoke_unused.round(Some(user_id(USER + 1)), ALL).await.unwrap(), None);
    let stored =
        [stage.is_stored(USER).await, stage.is_stored(USER + 1).await, stage.is_stored(USER + 2).await];
    assert_eq!(stored, [true, false, false]);
}

#[tokio::test]
async fn nodes_never_revoke_the_same_grant_concurrently() {
    let stage = Stage::new();
    let signed_in = stage.signs_in(USER, vec![]).await;
    let held = stage.memory.identity.hold(IdentityCall::Revoke);
    stage.use_cases.sessions.revoke(&signed_in.session.id).await.unwrap();
    stage.memory.identity.called(IdentityCall::Revoke, 1).await;
    assert_eq!(stage.another_node().revoke_unused.round(None, ALL).await.unwrap(), None);
    drop(held);
    stage.memory.scheduler.settled().await;
    assert_eq!((stage.revocations(), stage.is_stored(USER).await), (1, false));
}

#[tokio::test]
async fn a_new_sign_in_keeps_the_grant_from_revocation() {
    let stage = Stage::new();
    stage.signed_out_in_vain(USER).await;
    stage.recovers();
    stage.signed_in().await;
    assert_eq!(stage.use_cases.revoke_unused.round(None, ALL).await.unwrap(), None);
    assert_eq!(stage.revocations(), 1);
    assert!(stage.memory.identity.is_authorised(user_id(USER)));
}

#[tokio::test]
async fn unopenable_tokens_are_removed() {
    let stage = Stage::new();
    stage.signed_out_in_vain(USER).await;
    stage.recovers();
    let other_keys = stage.with_keys(TestVault::new(2));
    assert_eq!(other_keys.revoke_unused.round(None, ALL).await.unwrap(), None);
    assert_eq!((stage.revocations(), stage.is_stored(USER).await), (1, false));
}

#[tokio::test(start_paused = true)]
async fn forgets_a_user_at_once_and_revokes_later() {
    let stage = Stage::new();
    stage.signed_in().await;
    stage.memory.identity.fail_with(IdentityCall::Revoke, Some(IdentityErrorKind::Unreachable));
    let began = Instant::now();
    stage.use_cases.forget.forget(user_id(USER)).await.unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert!(!stage.is_stored(USER).await);
    stage.memory.identity.called(IdentityCall::Revoke, 1).await;
    stage.memory.identity.fail_with(IdentityCall::Revoke, None);
    stage.memory.scheduler.settled().await;
    assert!(!stage.memory.identity.is_authorised(user_id(USER)));
    assert_eq!(stage.revocations(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_user_who_signs_in_again_is_kept() {
    let stage = Stage::new();
    stage.signed_in().await;
    stage.memory.identity.fail_with(IdentityCall::Revoke, Some(IdentityErrorKind::Unreachable));
    stage.use_cases.forget.forget(user_id(USER)).await.unwrap();
    stage.memory.identity.called(IdentityCall::Revoke, 1).await;
    stage.signed_in().await;
    stage.memory.identity.fail_with(IdentityCall::Revoke, None);
    stage.memory.scheduler.settled().await;
    assert!(stage.memory.identity.is_authorised(user_id(USER)));
}

#[tokio::test]
async fn a_refused_or_failed_sign_in_revokes_an_unused_grant() {
    for (is_blocked, earlier) in [(true, false), (true, true), (false, false), (false, true)] {
        let stage = Stage::new();
        if earlier {
            stage.signed_in().await;
        }
        let mut ports = stage.memory.ports.clone();
        if is_blocked {
            stage.put(Record::Blocked(user_id(USER))).await;
        } else {
            let store = Arc::new(Over(Faulty::over(stage.memory.storage.clone())));
            store.set(Some(Fault::Fails(StoreErrorKind::Unavailable)));
            ports.stores.blocked = store;
        }
        let request = stage.memory.arrival(a_user(USER), vec![]);
        match UseCases::new(&ports, settings()).sign_in.sign_in(&request).await {
            Err(SignInError::Blocked(_)) => assert!(is_blocked),
            Err(SignInError::Store(_)) => assert!(!is_blocked),
            other => panic!("{other:?}"),
        }
        stage.memory.scheduler.settled().await;
        assert_eq!(stage.memory.identity.is_authorised(user_id(USER)), earlier, "another grant: {earlier}");
        assert_eq!(stage.revocations(), u64::from(!earlier));
        assert_eq!((stage.sessions().await.len(), stage.grant().await.is_some()), (earlier.into(), earlier));
    }
}

#[tokio::test]
async fn revokes_nothing_if_the_user_is_unknown() {
    let stage = Stage::new();
    stage.memory.identity.fail_with(IdentityCall::User, Some(IdentityErrorKind::TimedOut));
    let request = stage.memory.arrival(a_user(USER), vec![]);
    assert!(stage.use_cases.sign_in.sign_in(&request).await.is_err());
    stage.memory.scheduler.settled().await;
    assert_eq!(stage.revocations(), 0, "it would end the authorisation of an unknown user");
}

#[tokio::test]
async fn the_older_key_is_not_needed_after_resealing() {
    let stage = Stage::new();
    for user in USER..USER + 450 {
        stage.signs_in(user, vec![an_ownership(GUILD)]).await;
    }
    let both = stage.with_keys(TestVault::new(2).with_older(1));
    let mut told = Vec::new();
    let resealed = both.reseal.reseal(|sum| told.push(sum.total())).await.unwrap();
    assert_eq!(resealed, Resealed { resealed: 450, ..Resealed::default() });
    assert_eq!(told, [200, 400, 450]);
    let again = both.reseal.reseal(|_| ()).await.unwrap();
    assert_eq!(again, Resealed { untouched: 450, ..Resealed::default() });
    stage.memory.clock.advance(MINUTE);
    let newest = stage.with_keys(TestVault::new(2));
    assert!(newest.list_guilds.list(user_id(USER)).await.unwrap().age.is_zero());
}

#[tokio::test]
async fn resealing_skips_claimed_and_unopenable_grants() {
    let stage = Stage::new();
    for user in [USER, USER + 1] {
        stage.signs_in(user, vec![]).await;
    }
    let keyless = Stage { use_cases: stage.with_keys(TestVault::new(9)), memory: stage.memory };
    keyless.signs_in(USER + 2, vec![]).await;
    let store = &*keyless.memory.storage;
    let before = GrantStore::find(store, user_id(USER)).await.unwrap().unwrap();
    let now = keyless.memory.ports.clock.now();
    let claimed = store.claim_refresh(user_id(USER), before.version, now.after(SECOND), None).await.unwrap();
    assert_eq!(claimed, Claimed::Granted);
    let both = keyless.with_keys(TestVault::new(2).with_older(1));
    let resealed = both.reseal.reseal(|_| ()).await.unwrap();
    assert_eq!(resealed, Resealed { resealed: 1, busy: 1, corrupt: 1, untouched: 0 });
    assert_eq!(GrantStore::find(store, user_id(USER)).await.unwrap(), Some(before));
}

//! The platform gets its grant back, however often it has to be asked, and nobody waits for that.

use crate::use_cases::{GUILD, Stage, USER};
use async_trait::async_trait;
use companion_domain::{
    model::UserId,
    port::{BlockList, GrantStore, IdentityErrorKind, Record, StoreError},
    usecase::{Round, SignInError},
};
use companion_storage_memory::IdentityCall;
use companion_testkit::{
    use_cases::{UseCases, settings},
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

    /// A user has signed out while the platform took nothing back.
    async fn signed_out_in_vain(&self, user: u64) {
        self.signs_in(user, vec![]).await;
        self.memory.identity.fail_with(IdentityCall::Revoke, Some(IdentityErrorKind::Unreachable));
        self.use_cases.sessions.revoke_user(user_id(user)).await.unwrap();
        self.memory.scheduler.settled().await;
    }

    /// The platform is well again.
    fn recovers(&self) {
        self.memory.identity.fail_with(IdentityCall::Revoke, None);
    }

    fn revocations(&self) -> u64 {
        self.memory.identity.calls(IdentityCall::Revoke)
    }
}

#[tokio::test]
async fn signing_out_does_not_wait_for_the_platform() {
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
async fn what_the_platform_does_not_take_back_is_tried_again_in_later_rounds() {
    let stage = Stage::new();
    stage.signed_out_in_vain(USER).await;
    assert!(stage.is_stored(USER).await);
    stage.recovers();
    // Any node can go on with it.
    let another = stage.another_node().give_back;
    assert_eq!(another.round(None, ALL).await.unwrap(), Round::Done);
    assert_eq!(stage.revocations(), 2);
    assert!(!stage.memory.identity.is_authorised(user_id(USER)) && !stage.is_stored(USER).await);
    assert_eq!(another.round(None, ALL).await.unwrap(), Round::Done);
    assert_eq!(stage.revocations(), 2);
}

#[tokio::test]
async fn a_round_stops_where_the_platform_fails_and_the_next_goes_on_behind_that() {
    let stage = Stage::new();
    for user in [USER, USER + 1, USER + 2] {
        stage.signed_out_in_vain(user).await;
    }
    stage.recovers();
    stage.memory.identity.fail_with(IdentityCall::Revoke, Some(IdentityErrorKind::Failed));
    let tried = stage.revocations();
    let give_back = &stage.use_cases.give_back;
    assert_eq!(give_back.round(None, ALL).await.unwrap(), Round::Reached(user_id(USER)));
    assert_eq!(stage.revocations(), tried + 1);
    stage.memory.identity.fail_with(IdentityCall::Revoke, None);
    assert_eq!(give_back.round(Some(user_id(USER)), ONE).await.unwrap(), Round::Reached(user_id(USER + 1)));
    assert_eq!(give_back.round(Some(user_id(USER + 1)), ALL).await.unwrap(), Round::Done);
    let stored =
        [stage.is_stored(USER).await, stage.is_stored(USER + 1).await, stage.is_stored(USER + 2).await];
    assert_eq!(stored, [true, false, false]);
}

#[tokio::test]
async fn nodes_do_not_give_the_same_grant_back_at_once() {
    let stage = Stage::new();
    let signed_in = stage.signs_in(USER, vec![]).await;
    let held = stage.memory.identity.hold(IdentityCall::Revoke);
    stage.use_cases.sessions.revoke(&signed_in.session.id).await.unwrap();
    stage.memory.identity.called(IdentityCall::Revoke, 1).await;
    assert_eq!(stage.another_node().give_back.round(None, ALL).await.unwrap(), Round::Done);
    drop(held);
    stage.memory.scheduler.settled().await;
    assert_eq!((stage.revocations(), stage.is_stored(USER).await), (1, false));
}

#[tokio::test]
async fn a_user_who_signs_in_again_keeps_what_was_to_be_given_back() {
    let stage = Stage::new();
    stage.signed_out_in_vain(USER).await;
    stage.recovers();
    stage.signed_in().await;
    assert_eq!(stage.use_cases.give_back.round(None, ALL).await.unwrap(), Round::Done);
    assert_eq!(stage.revocations(), 1);
    assert!(stage.memory.identity.is_authorised(user_id(USER)));
}

#[tokio::test]
async fn tokens_that_cannot_be_opened_do_not_stay_for_ever() {
    let stage = Stage::new();
    stage.signed_out_in_vain(USER).await;
    stage.recovers();
    let mut ports = stage.memory.ports.clone();
    ports.vault = std::sync::Arc::new(companion_testkit::vault::TestVault::new(2));
    let other_keys = UseCases::new(&ports, settings());
    assert_eq!(other_keys.give_back.round(None, ALL).await.unwrap(), Round::Done);
    assert_eq!((stage.revocations(), stage.is_stored(USER).await), (1, false));
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_user_is_gone_at_once_and_the_platform_hears_of_it_later() {
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
async fn a_forgotten_user_who_signs_in_again_is_left_alone() {
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
async fn what_was_granted_to_someone_who_may_not_sign_in_is_given_back() {
    let stage = Stage::new();
    stage.use_cases.feed.records.put(Record::Blocked(user_id(USER))).await.unwrap();
    let request = stage.memory.arrival(a_user(USER), vec![]);
    let refused = stage.use_cases.sign_in.sign_in(&request).await;
    assert!(matches!(refused, Err(SignInError::Blocked(_))));
    stage.memory.scheduler.settled().await;
    assert!(!stage.memory.identity.is_authorised(user_id(USER)));
}

#[tokio::test]
async fn a_refused_sign_in_does_not_end_a_grant_that_is_in_use() {
    let stage = Stage::new();
    stage.signs_in(USER, vec![an_ownership(GUILD)]).await;
    stage.use_cases.feed.records.put(Record::Blocked(user_id(USER))).await.unwrap();
    let request = stage.memory.request(user_id(USER));
    assert!(stage.use_cases.sign_in.sign_in(&request).await.is_err());
    stage.memory.scheduler.settled().await;
    assert_eq!(stage.revocations(), 0);
    assert!(stage.memory.identity.is_authorised(user_id(USER)));
}

/// Nobody can say who is blocked.
struct Speechless;

#[async_trait]
impl BlockList for Speechless {
    async fn is_blocked(&self, _: UserId) -> Result<bool, StoreError> {
        Err(StoreError::unavailable("on purpose"))
    }
}

#[tokio::test]
async fn what_was_granted_is_given_back_where_nobody_can_say_whether_the_user_is_blocked() {
    for earlier in [false, true] {
        let stage = Stage::new();
        if earlier {
            stage.signed_in().await;
        }
        let mut ports = stage.memory.ports.clone();
        ports.stores.blocked = Arc::new(Speechless);
        let request = stage.memory.arrival(a_user(USER), vec![]);
        let failed = UseCases::new(&ports, settings()).sign_in.sign_in(&request).await;
        assert!(matches!(failed, Err(SignInError::Store(_))));
        stage.memory.scheduler.settled().await;
        assert_eq!(
            stage.memory.identity.is_authorised(user_id(USER)),
            earlier,
            "another grant stays: {earlier}"
        );
    }
}

#[tokio::test]
async fn nothing_is_given_back_of_someone_who_is_not_known() {
    let stage = Stage::new();
    stage.memory.identity.fail_with(IdentityCall::User, Some(IdentityErrorKind::TimedOut));
    let request = stage.memory.arrival(a_user(USER), vec![]);
    assert!(stage.use_cases.sign_in.sign_in(&request).await.is_err());
    stage.memory.scheduler.settled().await;
    assert_eq!(stage.revocations(), 0, "it would end the authorisation of whoever it is");
}

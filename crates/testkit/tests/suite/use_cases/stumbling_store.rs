//! Tokens that the platform has rotated, and a store that cannot take them.

use crate::use_cases::{GUILD, MINUTE, SECOND, Stage, USER};
use async_trait::async_trait;
use companion_domain::{
    model::{Timestamp, UserId},
    port::{ClaimAfter, Claimed, Grant, GrantContent, GrantStore, GrantVersion, SessionStore, StoreError},
    usecase::{ListGuildsError, SignInError},
};
use companion_storage_memory::{IdentityCall, MemoryStorage};
use companion_testkit::{
    use_cases::{InMemory, settings},
    world::{a_user, an_ownership, user_id},
};
use std::{
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

/// Fails to update a grant as often as it is told, may take no new one, and cannot read the grant of one user.
pub(crate) struct Stumbling {
    pub(crate) inner: Arc<dyn GrantStore>,
    pub(crate) failures: AtomicU32,
    pub(crate) takes_new_ones: bool,
    pub(crate) unreadable: Option<UserId>,
}

#[async_trait]
impl GrantStore for Stumbling {
    async fn update(
        &self,
        user: UserId,
        version: GrantVersion,
        content: &GrantContent,
        claim: ClaimAfter,
    ) -> Result<GrantVersion, StoreError> {
        let left = self.failures.load(Relaxed);
        if left > 0 {
            self.failures.store(left - 1, Relaxed);
            return Err(StoreError::unavailable("on purpose"));
        }
        self.inner.update(user, version, content, claim).await
    }

    async fn replace(&self, user: UserId, content: &GrantContent) -> Result<GrantVersion, StoreError> {
        if self.takes_new_ones {
            self.inner.replace(user, content).await
        } else {
            Err(StoreError::unavailable("on purpose"))
        }
    }

    async fn find(&self, user: UserId) -> Result<Option<Grant>, StoreError> {
        if self.unreadable == Some(user) {
            return Err(StoreError::corrupt("on purpose"));
        }
        self.inner.find(user).await
    }

    async fn claim_refresh(
        &self,
        user: UserId,
        version: GrantVersion,
        until: Timestamp,
        dead: Option<Timestamp>,
    ) -> Result<Claimed, StoreError> {
        self.inner.claim_refresh(user, version, until, dead).await
    }

    async fn release_claim(&self, user: UserId, version: GrantVersion) -> Result<(), StoreError> {
        self.inner.release_claim(user, version).await
    }

    async fn remove(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError> {
        self.inner.remove(user, version).await
    }

    async fn remove_unused(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError> {
        self.inner.remove_unused(user, version).await
    }

    async fn holders(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        self.inner.holders(after, limit).await
    }

    async fn unused(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        self.inner.unused(after, limit).await
    }
}

impl Stage {
    /// A stage whose store fails to update grants this often.
    fn stumbling(failures: u32) -> Self {
        let mut memory = InMemory::new();
        let inner = memory.ports.stores.grants.clone();
        let failures = failures.into();
        memory.ports.stores.grants =
            Arc::new(Stumbling { inner, failures, takes_new_ones: true, unreadable: None });
        Self::over(memory, settings())
    }
}

#[tokio::test(start_paused = true)]
async fn rotated_tokens_survive_a_store_that_stumbles() {
    let stage = Stage::stumbling(3);
    stage.signed_in().await;
    stage.memory.identity.expire_access(user_id(USER));
    stage.memory.clock.advance(MINUTE);
    assert_eq!(stage.list().await.unwrap().age, MINUTE, "it takes longer than a request waits");
    stage.memory.scheduler.settled().await;
    assert_eq!(stage.list().await.unwrap().age, Duration::ZERO);
    assert_eq!(stage.memory.identity.calls(IdentityCall::Refresh), 1);
}

#[tokio::test(start_paused = true)]
async fn a_crash_before_rotated_tokens_are_stored_costs_that_user_a_sign_in_and_no_more() {
    let stage = Stage::stumbling(4);
    stage.signed_in().await;
    let bystander = stage.signs_in(USER + 1, vec![an_ownership(GUILD)]).await;
    stage.memory.identity.expire_access(user_id(USER));
    stage.memory.clock.advance(MINUTE);
    assert_eq!(stage.list().await.unwrap().age, MINUTE);
    stage.memory.scheduler.settled().await;
    assert_eq!(stage.session_count().await, 1, "nobody is signed out before the platform has said so");
    stage.memory.clock.advance(30 * SECOND);
    assert!(matches!(stage.list().await, Err(ListGuildsError::SignedOut(_))));
    assert_eq!(stage.session_count().await, 0);
    assert!(stage.use_cases.authenticate.authenticate(bystander.token.expose()).await.is_ok());
    stage.signed_in().await;
    assert_eq!(stage.list().await.unwrap().guilds().len(), 1);
}

#[tokio::test]
async fn a_sign_in_over_two_stores_of_which_one_fails_leaves_no_session_behind() {
    let mut memory = InMemory::new();
    let grants = Stumbling {
        inner: memory.ports.stores.grants.clone(),
        failures: 0.into(),
        takes_new_ones: false,
        unreadable: None,
    };
    memory.ports.stores.grants = Arc::new(grants);
    let stage = Stage::over(memory, settings());
    let request = stage.memory.arrival(a_user(USER), vec![]);
    assert!(matches!(stage.use_cases.sign_in.sign_in(&request).await, Err(SignInError::Store(_))));
    assert_eq!(stage.session_count().await, 0);
    stage.memory.scheduler.settled().await;
    assert!(!stage.memory.identity.is_authorised(user_id(USER)), "what was granted is given back");
}

#[tokio::test]
async fn a_store_of_sessions_alone_can_be_exchanged() {
    let mut memory = InMemory::new();
    let elsewhere = Arc::new(MemoryStorage::new());
    memory.ports.stores.sessions = elsewhere.clone();
    let stage = Stage::over(memory, settings());
    let signed_in = stage.signed_in().await;
    assert_eq!((elsewhere.of_user(user_id(USER)).await.unwrap().len(), stage.session_count().await), (1, 0));
    assert!(stage.use_cases.authenticate.authenticate(signed_in.token.expose()).await.is_ok());
    assert_eq!(stage.list().await.unwrap().guilds().len(), 1);
    stage.memory.identity.end_authorisation(user_id(USER));
    stage.memory.clock.advance(MINUTE);
    let ended = stage.list().await;
    assert!(
        matches!(&ended, Err(ListGuildsError::SignedOut(ended)) if *ended == [signed_in.session]),
        "{ended:?}"
    );
    assert_eq!(elsewhere.of_user(user_id(USER)).await.unwrap(), []);
}

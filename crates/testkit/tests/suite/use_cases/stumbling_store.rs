//! Tokens that the platform has rotated, and a store that cannot take them.

use crate::use_cases::{GUILD, MINUTE, SECOND, Stage, USER};
use async_trait::async_trait;
use companion_domain::{
    model::UserId,
    port::{ClaimAfter, GrantContent, GrantStore, GrantVersion, StoreError},
    usecase::ListGuildsError,
};
use companion_storage_memory::IdentityCall;
use companion_testkit::{
    over::{GrantStoreOver, Over},
    use_cases::{InMemory, settings},
    world::{an_ownership, user_id},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

/// Fails to update a grant as often as it is told.
struct Stumbling {
    inner: Arc<dyn GrantStore>,
    failures: AtomicU32,
}

#[async_trait]
impl GrantStoreOver for Stumbling {
    fn grants(&self) -> &dyn GrantStore {
        &*self.inner
    }

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
}

impl Stage {
    /// A stage whose store fails to update grants this often.
    fn stumbling(failures: u32) -> Self {
        let mut memory = InMemory::new();
        let inner = memory.ports.stores.grants.clone();
        memory.ports.stores.grants = Arc::new(Over(Stumbling { inner, failures: failures.into() }));
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

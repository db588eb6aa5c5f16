//! A store that works until it is told not to.

use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{
        ClusterId, CodeFingerprint, Feedback, FeedbackId, Heartbeat, Roster, TeamMember, Timestamp, UserId,
    },
    port::{
        BlockList, BotTelemetry, FeedbackStore, GrantContent, GrantVersion, SessionStore, SignIns,
        SpentCodes, StoreError, StoreErrorKind, TeamRoster,
    },
    rules::Seed,
    session::{Cutoffs, Session, TokenHash, Uses},
};
use companion_storage_memory::MemoryStorage;
use std::{
    num::NonZeroU32,
    sync::{Arc, Mutex},
};

/// What is wrong with the store.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// It answers with an error of this kind.
    Fails(StoreErrorKind),
    /// It never answers.
    Hangs,
    /// It panics.
    Panics,
}

pub struct Faulty {
    inner: Arc<MemoryStorage>,
    fault: Mutex<Option<Fault>>,
}

impl Faulty {
    pub fn over(inner: Arc<MemoryStorage>) -> Self {
        Self { inner, fault: Mutex::default() }
    }

    /// Breaks the store in this way, or mends it.
    pub fn set(&self, fault: Option<Fault>) {
        *self.fault.lock().unwrap() = fault;
    }

    async fn working(&self) -> Result<&MemoryStorage, StoreError> {
        let fault = *self.fault.lock().unwrap();
        match fault {
            None => Ok(&*self.inner),
            Some(Fault::Fails(kind)) => Err(StoreError::new(kind, "told to fail")),
            Some(Fault::Hangs) => std::future::pending().await,
            Some(Fault::Panics) => panic!("told to panic"),
        }
    }
}

#[async_trait]
impl BlockList for Faulty {
    async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError> {
        self.working().await?.is_blocked(user).await
    }

    async fn block(&self, user: UserId) -> Result<Tally, StoreError> {
        self.working().await?.block(user).await
    }

    async fn unblock(&self, user: UserId) -> Result<Tally, StoreError> {
        self.working().await?.unblock(user).await
    }
}

#[async_trait]
impl FeedbackStore for Faulty {
    async fn pick_positive(&self, count: usize, seed: Seed) -> Result<Vec<Arc<Feedback>>, StoreError> {
        self.working().await?.pick_positive(count, seed).await
    }

    async fn positive_after(
        &self,
        after: Option<&FeedbackId>,
        most: NonZeroU32,
    ) -> Result<Vec<Arc<Feedback>>, StoreError> {
        self.working().await?.positive_after(after, most).await
    }

    async fn find(&self, id: &FeedbackId) -> Result<Option<Arc<Feedback>>, StoreError> {
        FeedbackStore::find(self.working().await?, id).await
    }

    async fn put(&self, feedback: &Feedback) -> Result<Tally, StoreError> {
        FeedbackStore::put(self.working().await?, feedback).await
    }

    async fn remove(&self, id: &FeedbackId) -> Result<Tally, StoreError> {
        FeedbackStore::remove(self.working().await?, id).await
    }
}

#[async_trait]
impl TeamRoster for Faulty {
    async fn all(&self) -> Result<Arc<[TeamMember]>, StoreError> {
        self.working().await?.all().await
    }

    async fn replace(&self, roster: &Roster) -> Result<Tally, StoreError> {
        TeamRoster::replace(self.working().await?, roster).await
    }
}

#[async_trait]
impl BotTelemetry for Faulty {
    async fn record(&self, heartbeat: &Heartbeat) -> Result<Tally, StoreError> {
        self.working().await?.record(heartbeat).await
    }

    async fn clusters(&self) -> Result<Vec<Arc<Heartbeat>>, StoreError> {
        self.working().await?.clusters().await
    }

    async fn forget_silent(&self, silent: &[(ClusterId, Timestamp)]) -> Result<Tally, StoreError> {
        self.working().await?.forget_silent(silent).await
    }
}

#[async_trait]
impl SpentCodes for Faulty {
    async fn spend(
        &self,
        code: &CodeFingerprint,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        self.working().await?.spend(code, now, until).await
    }

    async fn restore(&self, code: &CodeFingerprint) -> Result<(), StoreError> {
        self.working().await?.restore(code).await
    }
}

#[async_trait]
impl SignIns for Faulty {
    async fn begin(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
        grant: &GrantContent,
    ) -> Result<Vec<Session>, StoreError> {
        self.working().await?.begin(session, cap, ended, grant).await
    }

    async fn end(&self, user: UserId, version: GrantVersion) -> Result<Option<Vec<Session>>, StoreError> {
        self.working().await?.end(user, version).await
    }

    async fn end_without_grant(&self, user: UserId) -> Result<Option<Vec<Session>>, StoreError> {
        self.working().await?.end_without_grant(user).await
    }
}

#[async_trait]
impl SessionStore for Faulty {
    async fn create(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
    ) -> Result<Vec<Session>, StoreError> {
        self.working().await?.create(session, cap, ended).await
    }

    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        SessionStore::find(self.working().await?, id).await
    }

    async fn touch(&self, seen: Uses<'_>) -> Result<(), StoreError> {
        self.working().await?.touch(seen).await
    }

    async fn count(&self) -> Result<Option<u64>, StoreError> {
        self.working().await?.count().await
    }

    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        SessionStore::of_user(self.working().await?, user).await
    }

    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        self.working().await?.revoke(id).await
    }

    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError> {
        self.working().await?.expire(id, ended).await
    }

    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        self.working().await?.revoke_user(user).await
    }

    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        self.working().await?.prune(ended, limit).await
    }

    async fn rewind(&self, now: Timestamp, limit: NonZeroU32) -> Result<u64, StoreError> {
        self.working().await?.rewind(now, limit).await
    }
}

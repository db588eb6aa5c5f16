//! Adapters with hooks that block writes or make values unreadable.

use crate::conformance::proof::{faults, locked, memory, with};
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Key},
    model::UserId,
    port::{ApplyError, GrantContent, Mutation, Records, SessionStore, SignIns, StoreError, Stores},
    session::{Cutoffs, Session, TokenHash},
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::{
    conformance::{Damage, Fresh, Gate},
    over::{Over, RecordsOver, SessionStoreOver},
};
use std::{
    collections::HashSet,
    num::NonZeroU32,
    sync::{Arc, Condvar, Mutex, PoisonError},
};

faults! {
    fn proofs, enum Fault {}
    records(gated) {
        a_write_does_not_block_the_polling_thread:
            WritesWherePolled "a write blocks the polling thread",
            AnswersBeforeTheGate "a write returns before it is applied";
    }
    session_store(damaged) {
        an_unreadable_session_is_corrupt_and_can_be_ended:
            NoneInstead "an unreadable session is reported as absent",
            NoListAtAll "an unreadable session fails its user's list",
            DamagedStays "an unreadable session cannot be ended";
        prune_removes_unreadable_sessions_beyond_its_limit:
            PruneCutShort "unreadable sessions count towards the limit of a prune",
            PruneKeepsDamaged "prune keeps unreadable sessions";
    }
}

/// Whether writes are blocked, and the condition to wait for.
#[derive(Default)]
struct Lock {
    closed: Mutex<bool>,
    opened: Condvar,
}

impl Lock {
    /// Blocks until writes are allowed.
    fn pass(&self) {
        let closed = self.opened.wait_while(locked(&self.closed), |closed| *closed);
        drop(closed.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Opens the lock on drop.
struct Closed(Arc<Lock>);

impl Drop for Closed {
    fn drop(&mut self) {
        *locked(&self.0.closed) = false;
        self.0.opened.notify_all();
    }
}

fn gated(fault: Fault) -> Fresh<Stores> {
    let lock = Arc::<Lock>::default();
    let fresh = with(|stores| {
        stores.records =
            Arc::new(Over(Gated { inner: stores.records.clone(), lock: Arc::clone(&lock), fault }));
    });
    fresh.gating(move || {
        *locked(&lock.closed) = true;
        let gate: Gate = Box::new(Closed(Arc::clone(&lock)));
        std::future::ready(gate)
    })
}

struct Gated {
    inner: Arc<dyn Records>,
    lock: Arc<Lock>,
    fault: Fault,
}

#[async_trait]
impl RecordsOver for Gated {
    fn records(&self) -> &dyn Records {
        &*self.inner
    }

    async fn before(&self) -> Result<(), StoreError> {
        let lock = Arc::clone(&self.lock);
        match self.fault {
            Fault::WritesWherePolled => lock.pass(),
            _ => tokio::task::spawn_blocking(move || lock.pass()).await.map_err(StoreError::unavailable)?,
        }
        Ok(())
    }

    async fn apply(&self, batch: Vec<Mutation>) -> Result<Applied, ApplyError> {
        if self.fault == Fault::AnswersBeforeTheGate {
            return Ok(Applied::default());
        }
        self.before().await?;
        self.inner.apply(batch).await
    }
}

fn damaged(fault: Fault) -> Fresh<Stores> {
    let inner = memory();
    let mut stores = Stores::of(&inner);
    let damaging = Arc::new(Over(Damaged { inner, fault, sessions: Mutex::default() }));
    stores.sessions = damaging.clone();
    Fresh::new(Arc::new(stores)).damaging(move |what| {
        let Damage::Record(Key::Session(id)) = what else { return std::future::ready(false) };
        std::future::ready(locked(&damaging.sessions).insert(id))
    })
}

/// Memory with unreadable sessions.
struct Damaged {
    inner: Arc<MemoryStorage>,
    fault: Fault,
    sessions: Mutex<HashSet<TokenHash>>,
}

impl Damaged {
    fn unreadable(&self, session: &Session) -> bool {
        locked(&self.sessions).contains(&session.id)
    }

    /// Returns the readable ones; all have ended.
    fn readable(&self, mut ended: Vec<Session>) -> Vec<Session> {
        ended.retain(|session| !locked(&self.sessions).remove(&session.id));
        ended
    }
}

#[async_trait]
impl SessionStoreOver for Damaged {
    fn sessions(&self) -> &dyn SessionStore {
        &*self.inner
    }

    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        match SessionStore::find(&*self.inner, id).await? {
            Some(session) if self.unreadable(&session) && self.fault == Fault::NoneInstead => Ok(None),
            Some(session) if self.unreadable(&session) => Err(StoreError::corrupt("it makes no sense")),
            found => Ok(found),
        }
    }

    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let mut sessions = self.inner.of_user(user).await?;
        if self.fault == Fault::NoListAtAll && sessions.iter().any(|session| self.unreadable(session)) {
            return Err(StoreError::corrupt("one of them makes no sense"));
        }
        sessions.retain(|session| !self.unreadable(session));
        Ok(sessions)
    }

    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        if self.fault == Fault::DamagedStays && locked(&self.sessions).contains(id) {
            return Ok(None);
        }
        let revoked = self.inner.revoke(id).await?;
        Ok(self.readable(revoked.into_iter().collect()).pop())
    }

    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError> {
        let expired = self.inner.expire(id, ended).await?;
        Ok(self.readable(expired.into_iter().collect()).pop())
    }

    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let revoked = self.inner.revoke_user(user).await?;
        Ok(self.readable(revoked))
    }

    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        if self.fault == Fault::PruneCutShort {
            let pruned = self.inner.prune(ended, limit).await?;
            return Ok(self.readable(pruned));
        }
        let damaged = locked(&self.sessions).clone();
        let mut kept = Vec::new();
        for id in damaged {
            kept.extend(self.inner.expire(&id, ended).await?);
        }
        let pruned = self.inner.prune(ended, limit).await?;
        if self.fault == Fault::PruneKeepsDamaged {
            for session in kept {
                self.inner.begin(&session, NonZeroU32::MAX, ended, &GrantContent::default()).await?;
            }
        }
        Ok(pruned)
    }
}

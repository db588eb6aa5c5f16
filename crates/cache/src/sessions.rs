//! The `SessionStore` port behind the cache, by token hash. The absence of a session is cached too: a client that
//! keeps sending a dead token costs one read, not one per request. A change of the session invalidates it, since an
//! import can restore a session.

use crate::{entries::Entries, key::Key, trust::Trust, uses::PendingUses};
use async_trait::async_trait;
use companion_domain::{
    change::Kind,
    model::{Timestamp, UserId},
    port::{SessionStore, StoreError},
    session::{Cutoffs, Session, TokenHash, Uses},
    usecase::SingleFlight,
};
use std::{
    future::poll_fn,
    num::NonZeroU32,
    sync::{Arc, atomic::Ordering::Relaxed},
    task::Poll,
    time::Duration,
};

/// A session store over cached entries. Uses of sessions are buffered and written periodically.
pub(crate) struct CachedSessions {
    pub(crate) inner: Arc<dyn SessionStore>,
    pub(crate) entries: Arc<Entries>,
    pub(crate) trust: Trust,
    pub(crate) uses: Arc<PendingUses>,
    /// Upper bound on how long a use stays unwritten, on any node.
    pub(crate) lag: Duration,
    pub(crate) loads: Loads,
}

type Loads = SingleFlight<(TokenHash, u64), Result<Option<Session>, StoreError>>;

impl CachedSessions {
    /// Moves the idle cutoff back by the lag, so that no unwritten use could have kept an expired session alive.
    pub(crate) fn allow_for_lag(&self, ended: Cutoffs) -> Cutoffs {
        Cutoffs { seen: ended.seen.before(self.lag), ..ended }
    }

    async fn load(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        second_poll().await;
        let position = self.entries.position();
        let (inner, entries, uses, id) = (self.inner.clone(), self.entries.clone(), self.uses.clone(), *id);
        let load = async move {
            entries.session_loads.fetch_add(1, Relaxed);
            let found = inner.find(&id).await?.map(|session| uses.with_pending_use(session));
            entries.insert_session(&id, found.as_ref(), position);
            Ok(found)
        };
        let loaded = self.loads.join(&*self.trust.scheduler, (id, position), load).await;
        loaded.unwrap_or_else(|| Err(load_aborted()))
    }

    pub(crate) fn invalidate_ended(&self, sessions: &[Session]) {
        for session in sessions {
            self.uses.forget(&session.id);
        }
        self.entries.invalidate(sessions.iter().map(|session| Key::Session(session.id)));
    }
}

pub(crate) fn load_aborted() -> StoreError {
    StoreError::unavailable("the load was aborted")
}

/// Completes on the second poll, for which it wakes itself at once. A caller that only checks for a cached answer
/// polls once. If its request is then shed because too many wait, the store was not read for it.
pub(crate) async fn second_poll() {
    poll_fn(|context| {
        context.waker().wake_by_ref();
        Poll::Ready(())
    })
    .await;
    futures_util::pending!();
}

#[async_trait]
impl SessionStore for CachedSessions {
    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        self.trust.confirm().await?;
        match self.entries.session(id) {
            Some(session) => Ok(Some(session)),
            None if self.entries.is_absent(id) => Ok(None),
            None => self.load(id).await,
        }
    }

    fn cached(&self, id: &TokenHash) -> Option<Session> {
        if self.trust.is_fresh() { self.entries.session(id) } else { None }
    }

    async fn touch(&self, seen: Uses<'_>) -> Result<(), StoreError> {
        self.uses.note(seen);
        for (id, seen) in seen.as_slice() {
            self.entries.touch_session(id, *seen);
        }
        Ok(())
    }

    async fn count(&self) -> Result<Option<u64>, StoreError> {
        self.inner.count().await
    }

    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let sessions = self.inner.of_user(user).await?;
        // Uses are not in the change feed, so this is where an entry learns of uses on other nodes.
        for session in &sessions {
            self.entries.touch_session(&session.id, session.last_seen_at);
        }
        Ok(sessions.into_iter().map(|session| self.uses.with_pending_use(session)).collect())
    }

    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let revoked = self.inner.revoke(id).await;
        self.entries.invalidate([Key::Session(*id)]);
        let revoked = revoked?.map(|session| self.uses.with_pending_use(session));
        self.uses.forget(id);
        Ok(revoked)
    }

    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError> {
        self.uses.write_one(id, &*self.inner).await?;
        let expired = self.inner.expire(id, self.allow_for_lag(ended)).await;
        // Whether it has expired or not, the store is more recent than the entry.
        self.entries.invalidate([Key::Session(*id)]);
        expired
    }

    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let revoked = self.inner.revoke_user(user).await;
        let Ok(revoked) = &revoked else {
            // Unknown which of them were removed.
            self.entries.invalidate_kind(Kind::Session);
            return revoked;
        };
        let completed = revoked.iter().map(|session| self.uses.with_pending_use(session.clone())).collect();
        self.invalidate_ended(revoked);
        Ok(completed)
    }

    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        self.uses.write(&*self.inner).await?;
        let pruned = self.inner.prune(self.allow_for_lag(ended), limit).await?;
        self.invalidate_ended(&pruned);
        Ok(pruned)
    }

    async fn rewind(&self, now: Timestamp, limit: NonZeroU32) -> Result<u64, StoreError> {
        // A use from before the clock was set back must not be written afterwards.
        self.uses.write(&*self.inner).await?;
        let rewound = self.inner.rewind(now, limit).await;
        self.entries.invalidate_kind(Kind::Session);
        rewound
    }
}

//! Uses of sessions that are not written yet.

use companion_domain::{
    model::Timestamp,
    port::{SessionStore, StoreError},
    session::{Session, TokenHash, Uses},
};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The last use of each session, until it is written.
#[derive(Default)]
pub(crate) struct PendingUses(Mutex<HashMap<TokenHash, Timestamp>>);

impl PendingUses {
    fn pending(&self) -> MutexGuard<'_, HashMap<TokenHash, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, uses: Uses<'_>) {
        let mut pending = self.pending();
        for (id, seen) in uses.as_slice() {
            let noted = pending.entry(*id).or_insert(*seen);
            *noted = (*noted).max(*seen);
        }
    }

    /// Returns the session with its last use, including an unwritten one.
    pub(crate) fn with_pending_use(&self, session: Session) -> Session {
        match self.pending().get(&session.id) {
            Some(seen) => Session { last_seen_at: session.last_seen_at.max(*seen), ..session },
            None => session,
        }
    }

    pub(crate) fn forget(&self, id: &TokenHash) {
        self.pending().remove(id);
    }

    /// Removes what was written. A later use of the same session stays for the next write.
    fn forget_written(&self, uses: &[(TokenHash, Timestamp)]) {
        let mut pending = self.pending();
        for (id, seen) in uses {
            if pending.get(id) == Some(seen) {
                pending.remove(id);
            }
        }
    }

    /// Writes all pending uses, in batches.
    pub(crate) async fn write(&self, store: &dyn SessionStore) -> Result<(), StoreError> {
        let noted: Vec<_> = self.pending().iter().map(|(id, seen)| (*id, *seen)).collect();
        for batch in Uses::batches(&noted) {
            store.touch(batch).await?;
            self.forget_written(batch.as_slice());
        }
        Ok(())
    }

    /// Writes the pending use of one session, if any.
    pub(crate) async fn write_one(&self, id: &TokenHash, store: &dyn SessionStore) -> Result<(), StoreError> {
        let Some(seen) = self.pending().get(id).copied() else { return Ok(()) };
        store.touch(Uses::one(&(*id, seen))).await?;
        self.forget_written(&[(*id, seen)]);
        Ok(())
    }
}

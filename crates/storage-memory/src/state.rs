//! The state that all ports share, and its lock.

use crate::tables::Tables;
use companion_domain::change::{Applied, Change, Journal, Revision, Tally};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use tokio::sync::watch;

/// Default number of changes kept in the history.
const DEFAULT_HISTORY: usize = 65_536;

/// Implements every storage port in memory. Clones share their state.
#[derive(Clone)]
pub struct MemoryStorage {
    inner: Arc<Inner>,
}

struct Inner {
    state: RwLock<Tables>,
    latest: watch::Sender<Revision>,
    /// Number of changes kept in the history.
    kept_changes: usize,
}

impl MemoryStorage {
    /// Creates an empty store that keeps its last 65536 changes.
    #[must_use]
    pub fn new() -> Self {
        Self::with_history(DEFAULT_HISTORY)
    }

    /// Creates an empty store that keeps this many changes. A request for older ones yields a gap.
    #[must_use]
    pub fn with_history(kept_changes: usize) -> Self {
        let (state, latest) = Default::default();
        Self { inner: Arc::new(Inner { state, latest, kept_changes }) }
    }

    /// Locks the state for reading. Callers must not await while they hold the guard.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Tables> {
        self.inner.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state atomically. Changes noted in the journal are appended to the history in the same step.
    pub(crate) fn write<T>(&self, change: impl FnOnce(&mut Tables, &mut Journal) -> T) -> T {
        self.write_changes(change).0
    }

    /// Changes the state atomically, and returns what changed. If `change` fails, it must not have noted anything.
    pub(crate) fn apply_with<E>(
        &self,
        change: impl FnOnce(&mut Tables, &mut Journal) -> Result<Tally, E>,
    ) -> Result<Applied, E> {
        let (tally, changes) = self.write_changes(change);
        Ok(Applied { tally: tally?, changes })
    }

    fn write_changes<T>(&self, change: impl FnOnce(&mut Tables, &mut Journal) -> T) -> (T, Vec<Change>) {
        let mut journal = Journal::default();
        let mut state = self.inner.state.write().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut state, &mut journal);
        let changes = state.history.append(journal, self.inner.kept_changes);
        if let Some(last) = changes.last() {
            self.inner.latest.send_replace(last.revision);
        }
        (result, changes)
    }

    /// Waits until the newest revision differs from `revision`.
    pub(crate) async fn wait_for_other(&self, revision: Revision) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.inner.latest.subscribe().wait_for(|latest| *latest != revision).await;
    }
}

impl Default for MemoryStorage {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for MemoryStorage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryStorage").finish_non_exhaustive()
    }
}

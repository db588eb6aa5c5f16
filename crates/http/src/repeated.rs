//! Deduplicates log lines that clients can cause at will. The first of a kind is written at once. Repetitions within a
//! minute are counted and summarised in one line, so a flood costs a few lines a minute.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Time between the first line of a window and its summary.
const WINDOW: Duration = Duration::from_secs(60);

/// Key of lines that count as repetitions of each other.
pub(crate) trait LineKind: Eq + Hash + fmt::Debug + Send + 'static {
    /// Number of kinds tracked per window. It bounds the memory and the number of lines.
    const MAX_KINDS: usize;

    /// Returns a coarser kind, used when the maximum is tracked already. There must be only a few of these.
    fn coarser(self) -> Self;

    /// Logs that this many repetitions followed the first line.
    fn summarise(&self, repeated: u64);
}

/// Number of repetitions by kind since the last summary.
#[derive(Debug)]
pub(crate) struct Repeats<K>(Mutex<HashMap<K, u64>>);

impl<K: LineKind> Repeats<K> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::default()))
    }

    /// Returns whether this is the first of its kind, to be logged now; otherwise counts it. Must be called within a
    /// tokio runtime, which writes the summary at the end of the window.
    pub(crate) fn is_first(self: &Arc<Self>, kind: K) -> bool {
        let mut counts = self.counts();
        if counts.is_empty() {
            self.summarise_later();
        }
        let tracked = counts.len() < K::MAX_KINDS || counts.contains_key(&kind);
        match counts.entry(if tracked { kind } else { kind.coarser() }) {
            Entry::Vacant(vacant) => {
                vacant.insert(0);
                true
            }
            Entry::Occupied(mut counted) => {
                *counted.get_mut() += 1;
                false
            }
        }
    }

    fn summarise_later(self: &Arc<Self>) {
        let repeats = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(WINDOW).await;
            if let Some(repeats) = repeats.upgrade() {
                repeats.summarise();
            }
        });
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<K, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Logs the number of repetitions of each kind, and starts a new window.
    pub(crate) fn summarise(&self) {
        let counts = std::mem::take(&mut *self.counts());
        for (kind, repeated) in counts.into_iter().filter(|(_, repeated)| *repeated > 0) {
            kind.summarise(repeated);
        }
    }
}

//! Lines of the log that anyone can cause, any number of times. The first of a kind is written at once. Those that follow
//! within a minute are counted, and one more line then tells how many there were: a flood costs a few lines a minute.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// How long lines are counted before it is told how many there were.
const WINDOW: Duration = Duration::from_secs(60);

/// What makes two lines the same.
pub(crate) trait LineKind: Eq + Hash + fmt::Debug + Send + 'static {
    /// How many kinds are told apart within one window. It bounds the memory, and the lines that are written.
    const MOST: usize;

    /// What this counts as where that many are told apart already. There are only a few of these.
    fn coarser(self) -> Self;

    /// Writes that there were so many more after the line that was written.
    fn summarise(&self, repeated: u64);
}

/// What was written and counted since the last summary.
#[derive(Debug)]
pub(crate) struct Repeats<K>(Mutex<HashMap<K, u64>>);

impl<K: LineKind> Repeats<K> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::default()))
    }

    /// Whether this is the first of its kind, which is to be written now. All others are counted here. To be called within
    /// a tokio runtime, where the summary is then written at the end of the window.
    pub(crate) fn is_first(self: &Arc<Self>, kind: K) -> bool {
        let mut counts = self.counts();
        if counts.is_empty() {
            self.summarise_later();
        }
        let tracked = counts.len() < K::MOST || counts.contains_key(&kind);
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
}

/// Everything that an application counts.
pub(crate) type Summaries = [Arc<dyn Summarise>; 3];

/// Something that is counted and has to be told in the end.
pub(crate) trait Summarise: fmt::Debug + Send + Sync {
    /// Writes how often each kind came again, and begins a new window.
    fn summarise(&self);
}

impl<K: LineKind> Summarise for Repeats<K> {
    fn summarise(&self) {
        let counts = std::mem::take(&mut *self.counts());
        for (kind, repeated) in counts.into_iter().filter(|(_, repeated)| *repeated > 0) {
            kind.summarise(repeated);
        }
    }
}

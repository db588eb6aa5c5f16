//! Work that several requests wait for, and that is done once.

use crate::port::{Scheduler, Work};
use futures_channel::oneshot;
use futures_util::{
    FutureExt as _,
    future::{Either, Shared, select},
};
use std::{
    collections::HashMap,
    hash::Hash,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// What is in flight on this node, by what it is about.
pub(super) struct InFlight<K, T>(Arc<Mutex<HashMap<K, Outcome<T>>>>);

/// What becomes of the work; nothing where it broke off.
type Outcome<T> = Shared<oneshot::Receiver<T>>;

impl<K, T: Clone> Default for InFlight<K, T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K, T> InFlight<K, T>
where
    K: Eq + Hash + Copy + Send + 'static,
    T: Clone + Send + Sync + 'static,
{
    /// Waits for the work about `key`, which is started where nobody is at it. Nothing where it broke off.
    pub(super) async fn join(
        &self,
        scheduler: &dyn Scheduler,
        key: K,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let outcome = self.outcome(scheduler, key, work);
        outcome.await.ok()
    }

    fn outcome(
        &self,
        scheduler: &dyn Scheduler,
        key: K,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Outcome<T> {
        let mut in_flight = lock(&self.0);
        if let Some(outcome) = in_flight.get(&key) {
            return outcome.clone();
        }
        let (sender, outcome) = oneshot::channel();
        let outcome = outcome.shared();
        in_flight.insert(key, outcome.clone());
        scheduler.start(run(work, sender, Entry { in_flight: Arc::clone(&self.0), key }));
        outcome
    }
}

fn run<K, T>(
    work: impl Future<Output = T> + Send + 'static,
    outcome: oneshot::Sender<T>,
    entry: Entry<K, T>,
) -> Work
where
    K: Eq + Hash + Copy + Send + 'static,
    T: Clone + Send + Sync + 'static,
{
    Box::pin(async move {
        let done = work.await;
        // First the entry goes: whoever asks from now on starts anew.
        drop(entry);
        // Whoever left does not want to know.
        let _ = outcome.send(done);
    })
}

/// The entry of one piece of work, removed however that ends.
struct Entry<K: Eq + Hash, T: Clone> {
    in_flight: Arc<Mutex<HashMap<K, Outcome<T>>>>,
    key: K,
}

impl<K: Eq + Hash, T: Clone> Drop for Entry<K, T> {
    fn drop(&mut self) {
        lock(&self.in_flight).remove(&self.key);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What comes of `work`, or nothing where it takes longer than `patience`.
pub(super) async fn within<T>(
    scheduler: &dyn Scheduler,
    patience: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    match select(pin!(work), pin!(scheduler.pause(patience))).await {
        Either::Left((value, _)) => Some(value),
        Either::Right(_) => None,
    }
}

//! Single flight: concurrent requests share one execution of the same work.

use crate::{port::Scheduler, request::carried};
use futures_channel::oneshot;
use futures_util::{
    FutureExt as _,
    future::{Either, Shared, select},
};
use std::{
    collections::{HashMap, hash_map::Entry},
    hash::Hash,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Work in flight on this node, by key.
pub struct SingleFlight<K, T>(Arc<Mutex<HashMap<K, Outcome<T>>>>);

/// The outcome of the work. `Err` if it was aborted.
type Outcome<T> = Shared<oneshot::Receiver<T>>;

impl<K, T: Clone> Default for SingleFlight<K, T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K, T> SingleFlight<K, T>
where
    K: Eq + Hash + Copy + Send + 'static,
    T: Clone + Send + Sync + 'static,
{
    /// Waits for the work of `key`, which is started unless it is already in flight. `None` if it was aborted.
    pub async fn join(
        &self,
        scheduler: &dyn Scheduler,
        key: K,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        // A statement of its own, so that the lock is released before the outcome is awaited.
        let outcome = match lock(&self.0).entry(key) {
            Entry::Occupied(in_flight) => in_flight.get().clone(),
            Entry::Vacant(vacant) => {
                let (sender, outcome) = oneshot::channel();
                let outcome = vacant.insert(outcome.shared()).clone();
                let entry = EntryGuard { in_flight: Arc::clone(&self.0), key };
                let work = carried(work);
                scheduler.start(Box::pin(async move {
                    let done = work.await;
                    // The entry is removed first, so that a later caller starts the work again.
                    drop(entry);
                    // Fails only if no caller is waiting any more.
                    let _ = sender.send(done);
                }));
                outcome
            }
        };
        outcome.await.ok()
    }
}

/// Removes the entry of the work, however it ends.
struct EntryGuard<K: Eq + Hash, T: Clone> {
    in_flight: Arc<Mutex<HashMap<K, Outcome<T>>>>,
    key: K,
}

impl<K: Eq + Hash, T: Clone> Drop for EntryGuard<K, T> {
    fn drop(&mut self) {
        lock(&self.in_flight).remove(&self.key);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the outcome of `work`, or `None` if it takes longer than `limit`.
pub async fn timeout<T>(
    scheduler: &dyn Scheduler,
    limit: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    match select(pin!(work), pin!(scheduler.pause(limit))).await {
        Either::Left((value, _)) => Some(value),
        Either::Right(_) => None,
    }
}

//! Work that several requests wait for, and that is done once.

use crate::port::{Scheduler, Work};
use async_lock::{Mutex, MutexGuardArc};
use std::{
    collections::HashMap,
    future::poll_fn,
    hash::Hash,
    pin::pin,
    sync::{Arc, PoisonError},
    task::Poll,
    time::Duration,
};

/// What is being done on this node, by what it is about.
pub(super) struct Flights<K, T>(Arc<std::sync::Mutex<HashMap<K, Flight<T>>>>);

/// Locked while it is under way; then it holds the outcome, or nothing where the work broke off.
type Flight<T> = Arc<Mutex<Option<T>>>;

impl<K, T> Default for Flights<K, T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K, T> Flights<K, T>
where
    K: Eq + Hash + Copy + Send + 'static,
    T: Clone + Send + 'static,
{
    /// Waits for the work about `key`, which is started where nobody is at it. Nothing where it broke off.
    pub(super) async fn join(
        &self,
        scheduler: &dyn Scheduler,
        key: K,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let flight = self.board(scheduler, key, work);
        flight.lock().await.clone()
    }

    fn board(
        &self,
        scheduler: &dyn Scheduler,
        key: K,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Flight<T> {
        let mut flights = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flight) = flights.get(&key) {
            return Arc::clone(flight);
        }
        let flight = Flight::default();
        // Nobody else has seen it yet, so the lock is free.
        if let Some(outcome) = flight.try_lock_arc() {
            flights.insert(key, Arc::clone(&flight));
            let landing = Landing { flights: Arc::clone(&self.0), key };
            scheduler.start(fly(work, outcome, landing));
        }
        flight
    }
}

fn fly<K, T>(
    work: impl Future<Output = T> + Send + 'static,
    mut outcome: MutexGuardArc<Option<T>>,
    landing: Landing<K, T>,
) -> Work
where
    K: Eq + Hash + Copy + Send + 'static,
    T: Send + 'static,
{
    Box::pin(async move {
        // Dropped before the outcome is handed out: whoever asks later starts anew.
        let _landing = landing;
        *outcome = Some(work.await);
    })
}

/// Takes the flight off the board, however it ended.
struct Landing<K: Eq + Hash, T> {
    flights: Arc<std::sync::Mutex<HashMap<K, Flight<T>>>>,
    key: K,
}

impl<K: Eq + Hash, T> Drop for Landing<K, T> {
    fn drop(&mut self) {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

/// What comes of `work`, or nothing where it takes longer than `patience`.
pub(super) async fn within<T>(
    scheduler: &dyn Scheduler,
    patience: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    let (mut work, mut over) = (pin!(work), pin!(scheduler.pause(patience)));
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => over.as_mut().poll(context).map(|()| None),
    })
    .await
}

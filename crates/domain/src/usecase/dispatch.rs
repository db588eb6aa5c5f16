//! Dispatching of changes to the subscribers of a process: caches and projections.
//!
//! Each subscriber has its own position in the change feed. A pass reads the feed once per position and delivers what
//! is new. A write of this process is delivered directly, before it returns, without waiting for the next pass.

use crate::{
    change::{Change, Changes, Revision},
    port::{ChangeBatch, ChangeFeed, Clock, Ports, StoreError, Subscriber},
};
use futures_channel::oneshot;
use futures_util::lock::Mutex as AsyncMutex;
use std::{
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

/// Dispatches changes to all subscribers of this process. Each has its own position; a failed delivery is retried and
/// blocks no other subscriber.
pub struct ChangeDispatcher {
    feed: Arc<dyn ChangeFeed>,
    clock: Arc<dyn Clock>,
    subscribers: RwLock<Vec<Arc<Progress>>>,
    /// Number of passes begun.
    begun: AtomicU64,
    /// Number of the last completed pass.
    ended: AtomicU64,
    /// Held during a pass, so that an older state never overwrites a newer one.
    last_pass: AsyncMutex<Pass>,
    /// Changes of this process's writes that are not delivered yet.
    written: Mutex<Vec<Change>>,
    /// Woken after every pass.
    awaiting: Mutex<Vec<oneshot::Sender<()>>>,
}

/// The progress of a subscriber.
pub struct Progress {
    subscriber: Arc<dyn Subscriber>,
    /// `None` until it has loaded everything once.
    position: RwLock<Option<Revision>>,
    clock: Arc<dyn Clock>,
    /// When the last pass that brought it up to date began, in microseconds of monotonic time.
    up_to_date: AtomicU64,
}

/// No pass has brought it up to date yet.
const NOT_YET: u64 = u64::MAX;

impl Progress {
    /// Returns an upper bound on the age of the subscriber's state: the time since the last pass that brought it up to
    /// date began. `None` before the first one.
    #[must_use]
    pub fn age(&self) -> Option<Duration> {
        let began = self.up_to_date.load(SeqCst);
        let now = self.clock.monotonic();
        (began != NOT_YET).then(|| now.saturating_sub(Duration::from_micros(began)))
    }

    fn reached(&self, began: Duration) {
        self.up_to_date.store(u64::try_from(began.as_micros()).unwrap_or(NOT_YET), SeqCst);
    }

    fn position(&self) -> Option<Revision> {
        *self.position.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Delivers a step to the subscriber.
    async fn deliver_step(&self, step: &Step) -> Result<(), StoreError> {
        self.subscriber.receive(&step.batch).await?;
        self.set_position(step.reached);
        Ok(())
    }

    fn set_position(&self, reached: Revision) {
        *self.position.write().unwrap_or_else(PoisonError::into_inner) = Some(reached);
    }
}

/// A pass over all subscribers.
#[derive(Default)]
struct Pass {
    number: u64,
    failure: Option<StoreError>,
}

impl Pass {
    fn outcome(&self) -> Result<(), StoreError> {
        self.failure.clone().map_or(Ok(()), Err)
    }
}

/// The changes since a position, and the position after them.
struct Step {
    batch: ChangeBatch,
    reached: Revision,
}

impl Step {
    /// Reads the next step from the feed. `None` if there are no changes.
    async fn from(position: Option<Revision>, feed: &dyn ChangeFeed) -> Result<Option<Self>, StoreError> {
        let Some(position) = position else {
            // The revision is read first: changes made while a subscriber loads are delivered again, never missed.
            return Ok(Some(Self { reached: feed.latest().await?, batch: ChangeBatch::Everything }));
        };
        Ok(match feed.since(position).await? {
            Changes::Gap(latest) => Some(Self { batch: ChangeBatch::Everything, reached: latest }),
            Changes::Listed(changes) => Self::through(&changes),
        })
    }

    fn through(changes: &[Change]) -> Option<Self> {
        let reached = changes.last()?.revision;
        Some(Self { batch: ChangeBatch::Changes(changes.to_vec()), reached })
    }
}

/// Returns whether these changes follow the position without a gap.
fn follows(position: Revision, changes: &[Change]) -> bool {
    changes.iter().zip(position.0 + 1..).all(|(change, next)| change.revision.0 == next)
}

impl ChangeDispatcher {
    /// Creates a dispatcher of the change feed of these stores, without subscribers.
    #[must_use]
    pub fn of(ports: &Ports) -> Arc<Self> {
        Self::new(Arc::clone(&ports.stores.changes), Arc::clone(&ports.clock))
    }

    /// Creates a dispatcher of this feed, without subscribers.
    #[must_use]
    pub fn new(feed: Arc<dyn ChangeFeed>, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            feed,
            clock,
            subscribers: RwLock::default(),
            begun: AtomicU64::default(),
            ended: AtomicU64::default(),
            last_pass: AsyncMutex::default(),
            written: Mutex::default(),
            awaiting: Mutex::default(),
        })
    }

    /// Adds a subscriber. It loads with the next [`catch_up`](Self::catch_up).
    pub fn add(&self, subscriber: Arc<dyn Subscriber>) -> Arc<Progress> {
        let (clock, up_to_date) = (Arc::clone(&self.clock), AtomicU64::new(NOT_YET));
        let progress = Arc::new(Progress { subscriber, position: RwLock::default(), clock, up_to_date });
        self.subscribers.write().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&progress));
        progress
    }

    /// Returns when every subscriber has received every change made before the call, or has failed. Returns the first
    /// failure; failed deliveries are retried by the next pass. Concurrent callers share one pass.
    pub async fn catch_up(&self) -> Result<(), StoreError> {
        let begun_before = self.begun.load(SeqCst);
        self.pass_after(begun_before).await
    }

    /// Like [`catch_up`](Self::catch_up), but a pass already in flight is enough: the state is newer than before, not the
    /// newest.
    pub async fn freshen(&self) -> Result<(), StoreError> {
        let ended_before = self.ended.load(SeqCst);
        self.pass_after(ended_before).await
    }

    /// Returns the outcome of a pass with a higher number than this. Runs one if there was none.
    async fn pass_after(&self, number: u64) -> Result<(), StoreError> {
        let mut last = self.last_pass.lock().await;
        if last.number > number {
            return last.outcome();
        }
        self.pass(&mut last).await
    }

    async fn pass(&self, last: &mut Pass) -> Result<(), StoreError> {
        let number = self.begun.fetch_add(1, SeqCst) + 1;
        let failure = self.deliver_all().await.err();
        *last = Pass { number, failure };
        self.ended.store(number, SeqCst);
        // Dropping a sender wakes its receiver.
        self.awaiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
        last.outcome()
    }

    /// Delivers to all subscribers. Those at the same position share one read of the feed.
    async fn deliver_all(&self) -> Result<(), StoreError> {
        let began = self.clock.monotonic();
        let mut outcome = Ok(());
        let mut steps: Vec<(Option<Revision>, Option<Step>)> = Vec::new();
        for tracked in self.subscribers() {
            let position = tracked.position();
            if !steps.iter().any(|(known, _)| *known == position) {
                steps.push((position, Step::from(position, &*self.feed).await?));
            }
            let step = steps.iter().find(|(known, _)| *known == position);
            let delivered = match step {
                Some((_, Some(step))) => tracked.deliver_step(step).await,
                Some((_, None)) | None => Ok(()),
            };
            if delivered.is_ok() {
                tracked.reached(began);
            }
            outcome = outcome.and(delivered);
        }
        outcome
    }

    /// Delivers the changes of a write of this process to every subscriber. The write stands even if a delivery
    /// fails: the next pass over the feed retries it. If other processes have written in between, that pass runs
    /// first. Concurrent writers share one delivery.
    pub(super) async fn deliver(&self, written: &[Change]) {
        if written.is_empty() {
            return;
        }
        self.written.lock().unwrap_or_else(PoisonError::into_inner).extend(written.iter().cloned());
        let mut last = self.last_pass.lock().await;
        // They stay queued until delivered, so that the next writer delivers them if this one is cancelled.
        let mut changes = self.written.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if changes.is_empty() {
            return;
        }
        changes.sort_by_key(|change| change.revision);
        let missing_for = |tracked: &Progress| {
            // A subscriber that has not loaded yet will load what was written.
            let position = tracked.position()?;
            let known = changes.partition_point(|change| change.revision <= position);
            Some((position, changes.get(known..)?))
        };
        let subscribers = self.subscribers();
        let mut behind = subscribers.iter().filter_map(|tracked| missing_for(tracked));
        if behind.any(|(position, missing)| !follows(position, missing)) {
            let _ = self.pass(&mut last).await;
        }
        // Most subscribers are at the same position.
        let mut shared: Option<(Revision, Step)> = None;
        for tracked in &subscribers {
            let Some((position, missing)) = missing_for(tracked) else { continue };
            if shared.as_ref().is_none_or(|(from, _)| *from != position) {
                shared = Step::through(missing).map(|step| (position, step));
            }
            let Some((_, step)) = &shared else { continue };
            if tracked.subscriber.receive(&step.batch).await.is_ok() && follows(position, missing) {
                tracked.set_position(step.reached);
            }
        }
        drop(self.written.lock().unwrap_or_else(PoisonError::into_inner).drain(..changes.len()));
        self.awaiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns the revision up to which every subscriber shows every change. `None` until each of them has loaded once.
    #[must_use]
    pub fn shown(&self) -> Option<Revision> {
        self.subscribers().iter().map(|tracked| tracked.position()).min().flatten()
    }

    /// Returns when [`shown`](Self::shown) differs from this value.
    pub async fn moved(&self, shown: Option<Revision>) {
        loop {
            let (sender, passed) = oneshot::channel();
            self.awaiting.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
            if self.shown() != shown {
                return;
            }
            let _: Result<(), oneshot::Canceled> = passed.await;
        }
    }

    /// Returns the [`Progress::age`] of each subscriber, by its name. `None` for one that has not loaded yet.
    #[must_use]
    pub fn ages(&self) -> Vec<(&'static str, Option<Duration>)> {
        let age = |tracked: Arc<Progress>| (tracked.subscriber.name(), tracked.age());
        self.subscribers().into_iter().map(age).collect()
    }

    /// Returns whether every subscriber has loaded at least once.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        self.subscribers().iter().all(|tracked| tracked.position().is_some())
    }

    /// Returns when there may be new changes. It may never return, so callers also poll periodically.
    pub async fn wait_for_change(&self) {
        self.feed.wait_for_change(self.shown().unwrap_or_default()).await;
    }

    fn subscribers(&self) -> Vec<Arc<Progress>> {
        self.subscribers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

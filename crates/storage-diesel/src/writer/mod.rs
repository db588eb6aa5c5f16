//! Writes: jobs for one thread, which commits what is waiting in one transaction.
//!
//! While one commit is on its way to the disk, the next jobs gather; so the busier the store, the more writes share a
//! sync. Each job has a savepoint of its own and fails alone. A job is answered after the commit that holds it.

mod job;
mod thread;
mod write;

pub(crate) use self::write::Write;

use self::{
    job::{Job, Task},
    thread::Thread,
};
use crate::{error::Failure, sqlite::SqliteOptions};
use companion_domain::{
    change::Revision,
    port::{Cause, StoreError},
};
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};
use tokio::sync::{
    mpsc::{self, error::TrySendError},
    oneshot, watch,
};

/// The way to the writer's thread.
pub(crate) struct Writer {
    queue: mpsc::Sender<Message>,
    /// Closes when the thread has ended.
    running: watch::Receiver<()>,
    shared: Arc<Shared>,
}

enum Message {
    Job(Box<dyn Job>),
    /// There is something to clear away.
    Tidy,
    /// Finish what is waiting, then end.
    Close,
}

/// What the thread shares with everyone else.
pub(crate) struct Shared {
    pub(crate) commits: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) failed_commits: AtomicU64,
    pub(crate) refused_writes: AtomicU64,
    pub(crate) given_up: AtomicBool,
    /// The newest revision that was committed here.
    pub(crate) latest: watch::Sender<Revision>,
    /// Syncs that ended without being applied, and whose records are still staged.
    abandoned: Mutex<Vec<i64>>,
}

impl Shared {
    fn take_abandoned(&self) -> Vec<i64> {
        std::mem::take(&mut self.abandoned.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The answer to a job that is waiting or being done.
pub(crate) struct Answer<T>(oneshot::Receiver<Result<T, StoreError>>);

impl<T> Answer<T> {
    /// Waits until the job is committed, or has failed.
    pub(crate) async fn wait(self) -> Result<T, StoreError> {
        self.0.await.unwrap_or_else(|_| Err(StoreError::unavailable("the storage was closed")))
    }
}

impl Writer {
    /// Starts the thread, with its connection open.
    pub(crate) fn start(options: &Arc<SqliteOptions>) -> Result<Self, Cause> {
        let shared = Arc::new(Shared {
            commits: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            failed_commits: AtomicU64::new(0),
            refused_writes: AtomicU64::new(0),
            given_up: AtomicBool::new(false),
            latest: watch::Sender::new(Revision::default()),
            abandoned: Mutex::default(),
        });
        let (queue, jobs) = mpsc::channel(options.queue.get());
        let (alive, running) = watch::channel(());
        let connection = options.connect_writer()?;
        let thread = Thread::new(Arc::clone(options), Arc::clone(&shared), connection);
        std::thread::Builder::new().name("storage-writer".to_owned()).spawn(move || {
            let _alive = alive;
            thread.run(jobs);
        })?;
        Ok(Self { queue, running, shared })
    }

    /// Hands a job over. It is done whole or not at all, whether or not anyone waits for the answer.
    pub(crate) fn submit<T, F>(&self, work: F) -> Result<Answer<T>, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Write<'_>) -> Result<T, Failure> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        match self.queue.try_send(Message::Job(Box::new(Task::new(work, reply)))) {
            Ok(()) => Ok(Answer(answer)),
            Err(TrySendError::Full(_)) => {
                self.shared.refused_writes.fetch_add(1, Relaxed);
                Err(StoreError::unavailable("too many writes are waiting"))
            }
            Err(TrySendError::Closed(_)) => Err(StoreError::unavailable("the storage was closed")),
        }
    }

    /// Hands a job over, after waiting for a place in the queue where it is full.
    pub(crate) async fn submit_patiently<T, F>(&self, work: F) -> Result<Answer<T>, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Write<'_>) -> Result<T, Failure> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let message = Message::Job(Box::new(Task::new(work, reply)));
        match self.queue.send(message).await {
            Ok(()) => Ok(Answer(answer)),
            Err(_) => Err(StoreError::unavailable("the storage was closed")),
        }
    }

    /// Notes that what a sync staged is of no use, so that it is cleared away.
    pub(crate) fn abandon(&self, sync: i64) {
        let mut abandoned = self.shared.abandoned.lock().unwrap_or_else(PoisonError::into_inner);
        abandoned.push(sync);
        // A full queue will be looked at soon enough.
        let _ = self.queue.try_send(Message::Tidy);
    }

    /// Finishes what is waiting, refuses what comes later, and returns when the thread has ended.
    pub(crate) async fn close(&self) {
        let _ = self.queue.send(Message::Close).await;
        let mut running = self.running.clone();
        while running.changed().await.is_ok() {}
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// How many writes are waiting, and how many could.
    pub(crate) fn queue(&self) -> (usize, usize) {
        let capacity = self.queue.max_capacity();
        (capacity - self.queue.capacity(), capacity)
    }
}

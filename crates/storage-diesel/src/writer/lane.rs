//! A queue of writes, and the thread that serves it.

use super::{bulk::Turn, job::Job, status::WriterStatus, thread::WriterThread};
use crate::{
    connection::Access,
    limits::{MAX_BATCH, Purpose, QUEUE},
};
use companion_domain::port::{Cause, StoreError};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};
use tokio::sync::{
    mpsc::{self, error::TrySendError},
    oneshot, watch,
};

pub(super) struct Lane {
    sender: mpsc::Sender<Message>,
    /// Closes when the thread has ended.
    running: watch::Receiver<()>,
    queue: Arc<WriteQueue>,
}

impl Lane {
    /// Opens the connection and starts the thread.
    pub(super) fn start(status: &Arc<WriterStatus>, access: Access) -> Result<Self, Cause> {
        let (sender, messages) = mpsc::channel(QUEUE);
        let connection = status.database.connect(Purpose::Write)?;
        let (alive, running) = watch::channel(());
        let queue = Arc::new(WriteQueue {
            status: Arc::clone(status),
            access,
            messages: Mutex::new(messages),
            active: Mutex::new(ActiveThread { term: 0, in_flight_since: None, alive: Some(alive) }),
        });
        WriterThread::start(&queue, 0, Some(connection))?;
        Ok(Self { sender, running, queue })
    }

    pub(super) fn submit(&self, job: Box<dyn Job>) -> Result<(), StoreError> {
        self.sender.try_send(Message::Job(job)).map_err(|refused| match refused {
            TrySendError::Full(_) => {
                self.queue.status.refused_writes.fetch_add(1, Relaxed);
                StoreError::unavailable("too many writes are waiting")
            }
            TrySendError::Closed(_) => StoreError::unavailable("the storage was closed"),
        })
    }

    pub(super) fn queue(&self) -> mpsc::Sender<Message> {
        self.sender.clone()
    }

    /// Starts another thread if the transaction of the current one has been in flight past the deadline, because its
    /// server no longer responds. If the old thread resumes, it finishes its batch and ends. Two threads may write
    /// meanwhile, as several nodes may.
    pub(super) fn replace_silent_thread(&self) {
        let start = |term| WriterThread::start(&self.queue, term, None).is_ok();
        if let Some(deadline) = self.queue.status.database.deadline()
            && self.queue.replace_active(deadline, start)
        {
            tracing::warn!("the database stopped answering during a write; writing on another connection");
        }
    }

    /// Completes queued writes, rejects later ones, and returns when the thread has ended.
    pub(super) async fn close(&self) {
        let _ = self.sender.send(Message::Close).await;
        let mut running = self.running.clone();
        while running.changed().await.is_ok() {}
    }

    /// Returns the number of queued writes and the capacity of the queue.
    pub(super) fn waiting(&self) -> (usize, usize) {
        let capacity = self.sender.max_capacity();
        (capacity - self.sender.capacity(), capacity)
    }
}

pub(super) enum Message {
    Job(Box<dyn Job>),
    /// A request for a turn, in which this thread must not write.
    Bulk(oneshot::Sender<Turn>),
    /// Complete queued writes, then end.
    Close,
}

/// The next unit of work: jobs that share a transaction, then a turn of another connection.
pub(super) struct Batch {
    pub(super) jobs: Vec<Box<dyn Job>>,
    pub(super) bulk: Option<oneshot::Sender<Turn>>,
}

/// The queue that writer threads serve. Another thread takes it over if a server never answers the current one.
pub(super) struct WriteQueue {
    pub(super) status: Arc<WriterStatus>,
    pub(super) access: Access,
    messages: Mutex<mpsc::Receiver<Message>>,
    active: Mutex<ActiveThread>,
}

/// The thread that serves the queue, and the start of its transaction.
struct ActiveThread {
    /// Incremented with each thread that takes over.
    term: u64,
    in_flight_since: Option<Instant>,
    /// Dropped when the last thread ends.
    alive: Option<watch::Sender<()>>,
}

impl WriteQueue {
    /// Waits for a job, and takes all queued jobs up to the maximum of a commit. Returns `None` once the queue is closed and empty.
    pub(super) fn next_batch(&self) -> Option<Batch> {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let mut jobs = Vec::new();
        let mut next = Some(messages.blocking_recv()?);
        while let Some(message) = next {
            match message {
                Message::Job(job) => jobs.push(job),
                Message::Bulk(give) => return Some(Batch { jobs, bulk: Some(give) }),
                Message::Close => messages.close(),
            }
            next = if jobs.len() < MAX_BATCH { messages.try_recv().ok() } else { None };
        }
        Some(Batch { jobs, bulk: None })
    }

    /// Records the start of the transaction in flight. Returns `false` if another thread has taken over.
    pub(super) fn note_in_flight(&self, term: u64, since: Option<Instant>) -> bool {
        let mut active = self.active();
        let leads = active.term == term;
        if leads {
            active.in_flight_since = since;
        }
        leads
    }

    /// Replaces the current thread if its transaction has been in flight for `deadline`. Returns whether `start`
    /// succeeded for the new term.
    pub(super) fn replace_active(&self, deadline: Duration, start: impl FnOnce(u64) -> bool) -> bool {
        let mut active = self.active();
        let silent = active.in_flight_since.is_some_and(|since| since.elapsed() >= deadline);
        let replaced = silent && start(active.term + 1);
        if replaced {
            active.term += 1;
            active.in_flight_since = None;
        }
        replaced
    }

    /// Records that the last thread has ended.
    pub(super) fn note_end(&self) {
        self.active().alive = None;
    }

    fn active(&self) -> MutexGuard<'_, ActiveThread> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The way to a thread that writes: a queue, and a lane around it.

use super::{job::Job, status::WriterStatus, thread::WriterThread};
use crate::{connection::Access, database::Database, purpose::Purpose};
use companion_domain::port::{Cause, StoreError};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};
use tokio::sync::{
    mpsc::{self, error::TrySendError},
    watch,
};

pub(super) struct Lane {
    sender: mpsc::Sender<Message>,
    /// Closes when the thread has ended.
    running: watch::Receiver<()>,
    queue: Arc<WriteQueue>,
    status: Arc<WriterStatus>,
}

impl Lane {
    /// Starts the thread, with its connection open.
    pub(super) fn start(
        database: &Arc<Database>,
        status: &Arc<WriterStatus>,
        access: Access,
    ) -> Result<Self, Cause> {
        let (sender, messages) = mpsc::channel(database.limits().queue.get());
        let connection = database.connect(Purpose::Write)?;
        let (queue, running) = WriteQueue::new(Arc::clone(database), access, messages);
        let queue = Arc::new(queue);
        WriterThread::start(&queue, status, 0, Some(connection))?;
        Ok(Self { sender, running, queue, status: Arc::clone(status) })
    }

    pub(super) fn submit(&self, job: Box<dyn Job>) -> Result<(), StoreError> {
        self.sender.try_send(Message::Job(job)).map_err(|refused| match refused {
            TrySendError::Full(_) => {
                self.status.refused_writes.fetch_add(1, Relaxed);
                StoreError::unavailable("too many writes are waiting")
            }
            TrySendError::Closed(_) => StoreError::unavailable("the storage was closed"),
        })
    }

    /// Queues work that writes on another connection; it runs between two batches.
    #[cfg(feature = "sqlite")]
    pub(super) async fn submit_bulk(&self, work: Box<dyn FnOnce() + Send>) -> Result<(), StoreError> {
        let sent = self.sender.send(Message::Bulk(work)).await;
        sent.map_err(|_| StoreError::unavailable("the storage was closed"))
    }

    /// Lets another thread take over from one whose transaction has been in flight for so long that its server must have
    /// gone silent. Should that thread ever come back, it finishes what it has in hand and leaves; where several nodes
    /// may write, two threads may as well.
    pub(super) fn replace_silent_thread(&self) {
        let start = |term| WriterThread::start(&self.queue, &self.status, term, None).is_ok();
        if let Some(deadline) = self.queue.database.limits().deadline
            && self.queue.replace_leader(deadline, start)
        {
            tracing::warn!("the database stopped answering during a write; writing on another connection");
        }
    }

    /// Finishes what is waiting, refuses what comes later, and returns when the thread has ended.
    pub(super) async fn close(&self) {
        let _ = self.sender.send(Message::Close).await;
        let mut running = self.running.clone();
        while running.changed().await.is_ok() {}
    }

    /// How many writes are waiting, and how many could.
    pub(super) fn waiting(&self) -> (usize, usize) {
        let capacity = self.sender.max_capacity();
        (capacity - self.sender.capacity(), capacity)
    }
}

pub(super) enum Message {
    Job(Box<dyn Job>),
    /// Something that writes on another connection, and must not do so while this thread does.
    #[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "a server has a lock of its own"))]
    Bulk(Box<dyn FnOnce() + Send>),
    /// Finish what is waiting, then end.
    Close,
}

/// What is done next: jobs that share a transaction, and then work on another connection.
pub(super) struct Batch {
    pub(super) jobs: Vec<Box<dyn Job>>,
    pub(super) bulk: Option<Box<dyn FnOnce() + Send>>,
}

/// What a thread that writes works off, and leaves to the next should a server keep it for ever.
pub(super) struct WriteQueue {
    pub(super) database: Arc<Database>,
    pub(super) access: Access,
    messages: Mutex<mpsc::Receiver<Message>>,
    leader: Mutex<Leader>,
}

/// Which thread works the queue off, and since when it has been at its transaction.
struct Leader {
    /// Counts the threads that have led.
    term: u64,
    in_flight_since: Option<Instant>,
    /// Dropped when the last thread ends.
    alive: Option<watch::Sender<()>>,
}

impl WriteQueue {
    /// The queue, and what closes when nobody works it off any more.
    pub(super) fn new(
        database: Arc<Database>,
        access: Access,
        messages: mpsc::Receiver<Message>,
    ) -> (Self, watch::Receiver<()>) {
        let (alive, running) = watch::channel(());
        let leader = Mutex::new(Leader { term: 0, in_flight_since: None, alive: Some(alive) });
        (Self { database, access, messages: Mutex::new(messages), leader }, running)
    }

    /// Waits for a job, and takes all that are waiting, up to a limit; nothing at the end.
    pub(super) fn next_batch(&self, limit: usize) -> Option<Batch> {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let mut jobs = Vec::new();
        let mut next = Some(messages.blocking_recv()?);
        while let Some(message) = next {
            match message {
                Message::Job(job) if job.is_wanted() => jobs.push(job),
                Message::Job(_) => {}
                Message::Bulk(work) => return Some(Batch { jobs, bulk: Some(work) }),
                Message::Close => messages.close(),
            }
            next = if jobs.len() < limit { messages.try_recv().ok() } else { None };
        }
        Some(Batch { jobs, bulk: None })
    }

    /// Notes since when a transaction has been in flight. False where another thread has taken over.
    pub(super) fn note_in_flight(&self, term: u64, since: Option<Instant>) -> bool {
        let mut leader = self.leader();
        let leads = leader.term == term;
        if leads {
            leader.in_flight_since = since;
        }
        leads
    }

    /// Lets another thread take over where one transaction has been in flight for as long as this, if it can be started
    /// for the new term. Returns whether it was.
    pub(super) fn replace_leader(&self, deadline: Duration, start: impl FnOnce(u64) -> bool) -> bool {
        let mut leader = self.leader();
        let silent = leader.in_flight_since.is_some_and(|since| since.elapsed() >= deadline);
        let replaced = silent && start(leader.term + 1);
        if replaced {
            leader.term += 1;
            leader.in_flight_since = None;
        }
        replaced
    }

    /// Notes that the last thread has ended.
    pub(super) fn note_end(&self) {
        self.leader().alive = None;
    }

    fn leader(&self) -> MutexGuard<'_, Leader> {
        self.leader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

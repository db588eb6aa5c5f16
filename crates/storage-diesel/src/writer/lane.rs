//! One thread that writes, and the way to it.

use super::{
    job::Job,
    queue::{Message, WriteQueue},
    status::WriterStatus,
    thread::WriterThread,
};
use crate::{connection::Access, database::Database, purpose::Purpose};
use companion_domain::port::{Cause, StoreError};
use std::sync::{Arc, atomic::Ordering::Relaxed};
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

//! Transactions on connections other than the writer's own.

use super::{
    job::run,
    lane::Message,
    status::WriterStatus,
    thread::{TransactionError, commit},
};
use crate::{
    connection::{Access, AnyConnection},
    failure::WorkError,
    table::history::Write,
};
use companion_domain::port::{StoreError, SyncError};
use std::sync::{Arc, atomic::Ordering::Relaxed};
use tokio::sync::{mpsc, oneshot};

/// How a transaction ends.
pub(crate) enum End<T> {
    Commit(T),
    /// Discards all of its writes.
    RollBack(T),
}

/// The right to write on a separate connection.
pub(crate) struct BulkWrite {
    pub(super) status: Arc<WriterStatus>,
    /// The queue of the thread that must not write meanwhile. `None` if a server queues its clients at a lock.
    pub(super) queue: Option<mpsc::Sender<Message>>,
}

/// The writer thread runs no queued write until this is dropped.
pub(crate) type Turn = std::sync::mpsc::Sender<()>;

/// A checkpoint that a bulk write runs when it is done. Until then the writer runs none, so no queued write waits for
/// it.
pub(crate) struct DeferredCheckpoint(Arc<WriterStatus>);

impl DeferredCheckpoint {
    pub(crate) fn make(self, connection: &mut AnyConnection) {
        connection.checkpoint();
    }
}

impl Drop for DeferredCheckpoint {
    fn drop(&mut self) {
        self.0.deferred_checkpoints.fetch_sub(1, Relaxed);
    }
}

impl BulkWrite {
    /// Waits for the end of the current batch of the writer, because both would compete for the single write lock of an
    /// embedded database. Blocks the thread.
    pub(crate) fn turn(&self) -> Result<Option<Turn>, StoreError> {
        let Some(queue) = &self.queue else { return Ok(None) };
        let (give, turn) = oneshot::channel();
        let sent = queue.blocking_send(Message::Bulk(give)).is_ok();
        let turn = if sent { turn.blocking_recv().ok() } else { None };
        turn.map(Some).ok_or_else(|| StoreError::unavailable("the storage was closed"))
    }

    /// Takes over the next checkpoint from the writer.
    pub(crate) fn defer_checkpoint(&self) -> DeferredCheckpoint {
        self.status.deferred_checkpoints.fetch_add(1, Relaxed);
        DeferredCheckpoint(Arc::clone(&self.status))
    }

    /// Runs a transaction. The connection must not be used again after an error.
    pub(crate) fn transaction<T>(
        &self,
        db: &mut AnyConnection,
        access: Access,
        work: impl FnOnce(&mut Write<'_>) -> Result<End<T>, WorkError>,
    ) -> Result<T, SyncError> {
        let status = &self.status;
        let failed = |error: TransactionError| {
            status.note_failed_transaction(&error);
            StoreError::from(error)
        };
        if let Some(refusal) = status.refusal() {
            return Err(StoreError::from(refusal).into());
        }
        status.check_file(true).map_err(StoreError::from)?;
        db.begin_writing(access).map_err(|error| failed(error.into()))?;
        let mut write = status.write_on(db);
        let done = run(&mut write, work);
        let latest = write.latest();
        let end = done.inspect_err(|failure| {
            if failure.is_database_fault() {
                status.note_outcome(Err(failure.to_string()));
            }
            if self.queue.is_some() {
                // The next writer needs the lock once the turn ends.
                let _ = db.roll_back();
            }
        })?;
        match end {
            End::Commit(value) => {
                commit(db, latest, status).map_err(failed)?;
                status.note_outcome(Ok(()));
                status.note_commit(1, latest);
                Ok(value)
            }
            End::RollBack(value) => {
                db.roll_back().map_err(WorkError::from)?;
                Ok(value)
            }
        }
    }
}

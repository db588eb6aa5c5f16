//! Transactions on connections other than the writer's own.

use super::{
    job::run,
    status::WriterStatus,
    thread::{TransactionError, commit},
};
use crate::{
    connection::{Access, AnyConnection},
    failure::WorkError,
    table::history::Write,
};
use companion_domain::port::StoreError;
use std::sync::{Arc, atomic::Ordering::Relaxed};

/// How a transaction ends.
pub(crate) enum End<T> {
    Commit(T),
    /// Discards all of its writes.
    RollBack(T),
}

/// The right to write on a separate connection.
pub(crate) struct BulkWrite(pub(super) Arc<WriterStatus>);

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
    /// Takes over the next checkpoint from the writer.
    pub(crate) fn defer_checkpoint(&self) -> DeferredCheckpoint {
        self.0.deferred_checkpoints.fetch_add(1, Relaxed);
        DeferredCheckpoint(Arc::clone(&self.0))
    }

    /// Runs a transaction. The connection must not be used again after an error.
    pub(crate) fn transaction<T>(
        &self,
        db: &mut AnyConnection,
        access: Access,
        work: impl FnOnce(&mut Write<'_>) -> Result<End<T>, WorkError>,
    ) -> Result<T, StoreError> {
        let Self(status) = self;
        let failed = |error: TransactionError| {
            status.note_failed_transaction(&error);
            StoreError::from(error)
        };
        if let Some(refusal) = status.refusal() {
            return Err(refusal.into());
        }
        status.check_file(true)?;
        db.begin_writing(access).map_err(|error| failed(error.into()))?;
        let mut write = status.write_on(db);
        let done = run(&mut write, work);
        let latest = write.latest();
        let end = done.inspect_err(|failure| {
            if failure.is_database_fault() {
                status.note_outcome(Err(failure.to_string()));
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

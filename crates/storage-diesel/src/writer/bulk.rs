//! Transactions on connections other than the writer's own.

use super::{
    status::WriterStatus,
    thread::{TransactionError, check_file, commit},
};
use crate::{
    connection::{Access, AnyConnection},
    database::Database,
    failure::WorkError,
    table::history::Write,
};
use companion_domain::port::StoreError;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering::Relaxed},
};

/// How a transaction ends.
pub(crate) enum End<T> {
    Commit(T),
    /// Discards all of its writes.
    RollBack(T),
}

/// The right to write on a separate connection.
pub(crate) struct BulkWrite {
    pub(super) database: Arc<Database>,
    pub(super) status: Arc<WriterStatus>,
}

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
        self.status.deferred_checkpoints.fetch_add(1, Relaxed);
        DeferredCheckpoint(Arc::clone(&self.status))
    }

    /// Runs a transaction. The connection must not be used again after an error.
    pub(crate) fn transaction<T>(
        &self,
        db: &mut AnyConnection,
        access: Access,
        work: impl FnOnce(&mut Write<'_>) -> Result<End<T>, WorkError>,
    ) -> Result<T, StoreError> {
        if let Some(refusal) = self.status.refusal() {
            return Err(refusal.into());
        }
        check_file(&self.database, true)?;
        db.begin_writing(access).map_err(|error| self.failed(error.into()))?;
        let mut write = Write::new(db, &self.status.unreadable, self.database.limits().history);
        // The rollback discards what a panic leaves behind.
        let done = catch_unwind(AssertUnwindSafe(|| {
            let end = work(&mut write)?;
            write.record_noted()?;
            Ok::<_, WorkError>(end)
        }));
        let latest = write.latest();
        let end = done.unwrap_or_else(|_| Err(WorkError::Panicked)).inspect_err(|failure| {
            if failure.is_database_fault() {
                self.status.note_outcome(Err(failure.to_string()));
            }
        })?;
        match end {
            End::Commit(value) => {
                let committed = commit(db, latest, &self.database, &self.status);
                committed.map_err(|error| self.failed(error))?;
                self.status.note_outcome(Ok(()));
                self.status.note_commit(1, latest);
                Ok(value)
            }
            End::RollBack(value) => {
                db.roll_back().map_err(WorkError::from)?;
                Ok(value)
            }
        }
    }

    fn failed(&self, error: TransactionError) -> StoreError {
        self.status.note_failed_transaction(&error);
        error.into()
    }
}

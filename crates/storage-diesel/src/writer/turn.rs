//! A turn to write on another connection than the writer's own.

use super::{Message, Shared, Write, Writer, commit, job::Interruption};
use crate::{
    connection::{Access, AnyConnection},
    database::Database,
    failure::Failure,
};
use companion_domain::port::StoreError;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering::Relaxed},
};
#[cfg(feature = "sqlite")]
use tokio::sync::oneshot;
#[cfg(feature = "postgres")]
use tokio::task::spawn_blocking;

/// What becomes of a transaction.
pub(crate) enum End<T> {
    /// It is kept.
    Commit(T),
    /// It leaves nothing behind.
    RollBack(T),
}

/// The right to write.
pub(crate) struct Turn {
    database: Arc<Database>,
    shared: Arc<Shared>,
}

impl Writer {
    /// Runs work that may write on a connection of its own. In an embedded database it runs between two batches of the
    /// writer, which would otherwise have to fight it for the one right to write; a server has a lock that all of its
    /// clients line up for. Work that has begun ends, whether or not anyone waits for it.
    pub(crate) async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Turn) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let turn = Turn { database: Arc::clone(&self.database), shared: Arc::clone(&self.shared) };
        match &*self.database {
            #[cfg(feature = "sqlite")]
            Database::Sqlite(_) => {
                let (reply, answer) = oneshot::channel();
                let work = Box::new(move || {
                    // Whoever left does not want to know.
                    let _ = reply.send(work(&turn));
                });
                let closed = || StoreError::unavailable("the storage was closed");
                self.all.jobs.send(Message::Apart(work)).await.map_err(|_| closed())?;
                answer.await.map_err(|_| closed())
            }
            #[cfg(feature = "postgres")]
            Database::Postgres(_) => {
                spawn_blocking(move || work(&turn)).await.map_err(StoreError::unavailable)
            }
        }
    }
}

/// The duty to make a checkpoint. As long as someone has it, the writer leaves that alone, and nobody who waits for the
/// writer waits for it.
pub(crate) struct CheckpointDuty(Arc<Shared>);

impl CheckpointDuty {
    /// Makes the checkpoint.
    pub(crate) fn fulfil(self, connection: &mut AnyConnection) {
        connection.checkpoint();
    }
}

impl Drop for CheckpointDuty {
    fn drop(&mut self) {
        self.0.checkpointers.fetch_sub(1, Relaxed);
    }
}

impl Turn {
    /// Takes over the duty to make a checkpoint after what is written in this turn.
    pub(crate) fn take_checkpoint_duty(&self) -> CheckpointDuty {
        self.shared.checkpointers.fetch_add(1, Relaxed);
        CheckpointDuty(Arc::clone(&self.shared))
    }

    /// Runs a transaction. After an error the connection is of no more use.
    pub(crate) fn transaction<T>(
        &self,
        db: &mut AnyConnection,
        access: Access,
        work: impl FnOnce(&mut Write<'_>) -> Result<End<T>, Failure>,
    ) -> Result<T, StoreError> {
        if let Some(refusal) = self.shared.refusal() {
            return Err(refusal.into());
        }
        commit::check_file(&self.database, true)?;
        db.begin_writing(access).map_err(|error| self.interrupted(error.into()))?;
        let mut write = Write::new(db, self.database.limits().history);
        // What a panic leaves behind is rolled back with the transaction.
        let done = catch_unwind(AssertUnwindSafe(|| {
            let end = work(&mut write)?;
            write.record_noted()?;
            Ok::<_, Failure>(end)
        }));
        let latest = write.latest();
        let end = done.unwrap_or_else(|_| Err(Failure::Panicked)).inspect_err(|failure| {
            if failure.is_lasting() {
                self.shared.condition.note(Err(failure.to_string()));
            }
        })?;
        match end {
            End::Commit(value) => {
                let committed = commit::commit(db, latest, &self.database, &self.shared);
                committed.map_err(|interruption| self.interrupted(interruption))?;
                self.shared.commits.fetch_add(1, Relaxed);
                self.shared.writes.fetch_add(1, Relaxed);
                self.shared.condition.note(Ok(()));
                if let Some(latest) = latest {
                    self.shared.latest.advance(latest);
                }
                Ok(value)
            }
            End::RollBack(value) => {
                db.roll_back().map_err(Failure::from)?;
                Ok(value)
            }
        }
    }

    fn interrupted(&self, interruption: Interruption) -> StoreError {
        self.shared.interrupted(&interruption);
        interruption.into()
    }
}

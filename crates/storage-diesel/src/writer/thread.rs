//! The writer thread, and the commit of every writing transaction.

use super::{
    job::{Job, JobOutcome},
    lane::{Batch, WriteQueue},
    status::WriterStatus,
};
use crate::{connection::AnyConnection, failure::WorkError, limits::Purpose};
use companion_domain::{
    change::Revision,
    port::{Cause, StoreError, StoreErrorKind},
};
use diesel::{r2d2::R2D2Connection, result::Error as DatabaseError};
use std::{
    io,
    sync::{Arc, atomic::Ordering::Relaxed, mpsc},
    time::Instant,
};

pub(super) struct WriterThread {
    queue: Arc<WriteQueue>,
    /// The term in which this thread serves the queue.
    term: u64,
    /// `None` after a failed transaction; the next one reconnects.
    connection: Option<AnyConnection>,
    /// Whether commits on that connection run checkpoints.
    auto_checkpoint: bool,
}

/// The newest revision that the jobs of a transaction recorded, their number, and the last outcome that says something
/// about the state of the database.
type BatchSummary = (Option<Revision>, u64, Option<Result<(), String>>);

impl WriterThread {
    pub(super) fn start(
        queue: &Arc<WriteQueue>,
        term: u64,
        connection: Option<AnyConnection>,
    ) -> io::Result<()> {
        let thread = Self { queue: Arc::clone(queue), term, connection, auto_checkpoint: true };
        std::thread::Builder::new().name("storage-writer".to_owned()).spawn(move || thread.run())?;
        Ok(())
    }

    /// Runs until the queue is closed and empty, or another thread has taken over.
    fn run(mut self) {
        while let Some(Batch { jobs, bulk }) = self.queue.next_batch() {
            self.queue.note_in_flight(self.term, Some(Instant::now()));
            self.commit(jobs);
            if !self.queue.note_in_flight(self.term, None) {
                return;
            }
            if let Some(give) = bulk {
                let (turn, over) = mpsc::channel();
                // The receiver is gone if the other thread has ended.
                if give.send(turn).is_ok() {
                    let _ = over.recv();
                }
            }
        }
        if let Some(mut connection) = self.connection.take() {
            connection.finish();
        }
        self.queue.note_end();
    }

    fn commit(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        if jobs.is_empty() {
            return;
        }
        let error = self.attempt(&mut jobs).err();
        if let Some(error) = &error {
            self.queue.status.note_failed_transaction(error);
        }
        for job in jobs {
            job.answer(error.as_ref());
        }
    }

    /// Runs all jobs in one transaction and commits it.
    fn attempt(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), TransactionError> {
        let status = Arc::clone(&self.queue.status);
        if let Some(refusal) = status.refusal() {
            return Err(refusal);
        }
        if status.database.verify().map_err(TransactionError::unavailable)? {
            // Its page cache may be older than the file.
            self.connection = None;
        }
        // A new connection must not accept another file, and writing does not resume after a loss.
        if self.connection.is_none() || status.database.has_lost_file() {
            status.check_file(true)?;
        }
        let mut connection = self.begin()?;
        self.leave_checkpoints_to_others(&mut connection)?;
        let (latest, writes, outcome) = self.run_all(&mut connection, jobs)?;
        let committed = commit(&mut connection, latest, &status);
        // If the file was unlinked, this connection is the only remaining access to its content.
        if committed.is_ok() || status.database.has_lost_file() {
            self.connection = Some(connection);
        }
        committed?;
        if let Some(outcome) = outcome {
            status.note_outcome(outcome);
        }
        status.note_commit(writes, latest);
        Ok(())
    }

    /// Returns a connection with an open transaction. Replaces a connection that was lost while idle, which is safe
    /// because nothing has been written yet.
    fn begin(&mut self) -> Result<AnyConnection, TransactionError> {
        if let Some(mut connection) = self.connection.take() {
            match connection.begin_writing(self.queue.access) {
                Ok(()) => return Ok(connection),
                Err(error) => {
                    if connection.survives_failed_begin() {
                        // Most likely another process is writing.
                        self.connection = Some(connection);
                        return Err(error.into());
                    }
                    if !connection.is_broken() {
                        return Err(error.into());
                    }
                }
            }
        }
        let unreachable = |cause: Cause| TransactionError::unavailable(cause.to_string());
        let mut connection = self.queue.status.database.connect(Purpose::Write).map_err(unreachable)?;
        connection.begin_writing(self.queue.access)?;
        self.auto_checkpoint = true;
        Ok(connection)
    }

    /// Disables automatic checkpoints while a bulk write has taken them over.
    fn leave_checkpoints_to_others(&mut self, connection: &mut AnyConnection) -> Result<(), DatabaseError> {
        let auto_checkpoint = self.queue.status.deferred_checkpoints.load(Relaxed) == 0;
        if auto_checkpoint != self.auto_checkpoint {
            connection.set_auto_checkpoint(auto_checkpoint)?;
            self.auto_checkpoint = auto_checkpoint;
        }
        Ok(())
    }

    /// Runs the jobs in sequence, each in its own savepoint; a single job runs directly in the transaction. Returns
    /// `Err` if the transaction itself is lost.
    fn run_all(
        &self,
        connection: &mut AnyConnection,
        jobs: &mut [Box<dyn Job>],
    ) -> Result<BatchSummary, TransactionError> {
        let (mut latest, mut writes, mut outcome) = (None, 0, None);
        let alone = jobs.len() == 1;
        let undo = |connection: &mut AnyConnection| {
            connection.roll_back()?;
            if alone { connection.begin_writing(self.queue.access) } else { Ok(()) }
        };
        for job in jobs.iter_mut().filter(|job| job.begin()) {
            if !alone {
                connection.begin_savepoint()?;
            }
            let mut write = self.queue.status.write_on(connection);
            let job_outcome = job.run(&mut write);
            let revision = write.latest();
            match job_outcome {
                JobOutcome::Kept => {
                    if !alone {
                        connection.commit()?;
                    }
                    latest = latest.max(revision);
                    writes += 1;
                    outcome = Some(Ok(()));
                }
                JobOutcome::RolledBack => undo(connection)?,
                JobOutcome::Failed(reason) => {
                    // On a full disk the rollback may fail too. Report the first failure, not that one.
                    let with_reason =
                        |error| TransactionError { reason: reason.clone(), ..TransactionError::from(error) };
                    undo(connection).map_err(with_reason)?;
                    outcome = Some(Err(reason));
                }
            }
        }
        Ok((latest, writes, outcome))
    }
}

/// Commits, and notifies other nodes of the newest revision with it. A commit to a file that is no longer at its path
/// counts as lost.
pub(super) fn commit(
    connection: &mut AnyConnection,
    latest: Option<Revision>,
    status: &WriterStatus,
) -> Result<(), TransactionError> {
    if let Some(latest) = latest {
        connection.notify(latest)?;
    }
    if let Err(lost) = status.check_file(true) {
        let _ = connection.roll_back();
        return Err(lost);
    }
    connection.commit().map_err(|error| {
        // After a lost server or a failed disk it is unknown whether the commit is durable.
        let is_rolled_back = !gives_up(&error, status) && connection.survives_failed_begin();
        TransactionError { is_rolled_back, ..TransactionError::from(error) }
    })?;
    status.check_file(false)
}

/// Rejects all further writes after a failed disk sync, and returns whether this was one. What is on disk is then
/// unknown, and a later sync that succeeds proves nothing.
fn gives_up(error: &DatabaseError, status: &WriterStatus) -> bool {
    let message = error.to_string();
    let failed_sync = status.database.means_failed_sync(&message);
    if failed_sync {
        status.has_given_up.store(true, Relaxed);
        tracing::error!(
            error = message,
            "a commit did not reach the disk: no more writes until this program is restarted"
        );
    }
    failed_sync
}

#[derive(Debug, Clone)]
pub(super) struct TransactionError {
    pub(super) kind: StoreErrorKind,
    /// Whether a retry may succeed once other writers are done.
    pub(super) is_transient: bool,
    pub(super) reason: String,
    /// Whether it is certain that nothing was written.
    pub(super) is_rolled_back: bool,
}

impl TransactionError {
    /// An error after which nothing was written and writes are unavailable for now.
    pub(super) const fn unavailable(reason: String) -> Self {
        Self { kind: StoreErrorKind::Unavailable, is_transient: false, reason, is_rolled_back: true }
    }
}

impl From<DatabaseError> for TransactionError {
    fn from(error: DatabaseError) -> Self {
        let (reason, failure) = (error.to_string(), WorkError::from(error));
        let is_transient = failure.is_transient();
        let kind = match StoreError::from(failure).kind {
            // A conflict is specific to one job, which fails alone.
            StoreErrorKind::Conflict | StoreErrorKind::Unavailable => StoreErrorKind::Unavailable,
            StoreErrorKind::Corrupt => StoreErrorKind::Corrupt,
        };
        Self { kind, is_transient, reason, is_rolled_back: true }
    }
}

impl From<TransactionError> for StoreError {
    fn from(TransactionError { kind, reason, is_rolled_back, .. }: TransactionError) -> Self {
        let written = if is_rolled_back { "nothing was written" } else { "it may have been written or not" };
        Self::new(kind, format!("{written}: {reason}"))
    }
}

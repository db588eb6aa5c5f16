//! State that writer threads share: counters, and the outcome of the last write.

use super::thread::TransactionError;
use crate::{
    connection::AnyConnection,
    database::Database,
    revision::LatestRevision,
    table::{history::Write, unreadable::Unreadable},
};
use companion_domain::change::Revision;
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
};

pub(crate) struct WriterStatus {
    pub(super) database: Arc<Database>,
    unreadable: Arc<Unreadable>,
    pub(crate) commits: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) failed_commits: AtomicU64,
    pub(crate) refused_writes: AtomicU64,
    pub(crate) has_given_up: AtomicBool,
    /// Number of bulk writes that will run a checkpoint themselves and so bound the log.
    pub(super) deferred_checkpoints: AtomicUsize,
    pub(crate) latest: LatestRevision,
    /// Why the last write failed, if it did.
    failure: Mutex<Option<String>>,
}

impl WriterStatus {
    pub(super) fn new(database: Arc<Database>, unreadable: Arc<Unreadable>) -> Self {
        Self {
            database,
            unreadable,
            commits: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            failed_commits: AtomicU64::new(0),
            refused_writes: AtomicU64::new(0),
            has_given_up: AtomicBool::new(false),
            deferred_checkpoints: AtomicUsize::new(0),
            latest: LatestRevision::default(),
            failure: Mutex::default(),
        }
    }

    /// Returns why the last write failed, for a reason other than contention: the disk is full, the database is
    /// read-only, or a commit did not complete. Returns `None` if it succeeded.
    pub(crate) fn last_failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the handle of a write on a connection that is in a transaction.
    pub(super) fn write_on<'a>(&'a self, db: &'a mut AnyConnection) -> Write<'a> {
        Write::new(db, &self.unreadable, self.database.limits().history)
    }

    /// Returns an error if the file is damaged or no longer at its path, because a write to it would be lost.
    pub(super) fn check_file(&self, is_rolled_back: bool) -> Result<(), TransactionError> {
        let lost = |reason| TransactionError { is_rolled_back, ..TransactionError::unavailable(reason) };
        self.database.check_file().map_err(lost)?;
        self.database.damage().map_or(Ok(()), |reason| Err(lost(reason)))
    }

    /// Records the outcome of the last write.
    pub(super) fn note_outcome(&self, outcome: Result<(), String>) {
        if let Err(reason) = &outcome {
            self.database.note_failure(reason);
        }
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = outcome.err();
    }

    /// Records a committed transaction: its number of writes, and its newest revision.
    pub(super) fn note_commit(&self, writes: u64, latest: Option<Revision>) {
        self.commits.fetch_add(u64::from(writes > 0), Relaxed);
        self.writes.fetch_add(writes, Relaxed);
        if let Some(latest) = latest {
            self.latest.advance(latest);
        }
    }

    /// Records a failed transaction.
    pub(super) fn note_failed_transaction(&self, error: &TransactionError) {
        self.failed_commits.fetch_add(1, Relaxed);
        if !error.is_transient {
            self.note_outcome(Err(error.reason.clone()));
        }
    }

    /// Returns why all writes are rejected, or `None` if they are accepted.
    pub(super) fn refusal(&self) -> Option<TransactionError> {
        self.has_given_up.load(Relaxed).then(|| {
            let reason = "an earlier commit did not reach the disk, so nothing is written until a restart";
            TransactionError::unavailable(reason.to_owned())
        })
    }
}

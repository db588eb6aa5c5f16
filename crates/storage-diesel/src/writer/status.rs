//! What the threads that write share with everyone else: what they have done, and whether the last write worked.

use super::thread::Interruption;
use crate::{database::Database, latest::LatestRevision};
use companion_domain::change::Revision;
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
};

pub(crate) struct WriterStatus {
    database: Arc<Database>,
    pub(crate) commits: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) failed_commits: AtomicU64,
    pub(crate) refused_writes: AtomicU64,
    pub(crate) given_up: AtomicBool,
    /// How many bulk writes will make a checkpoint of their own, so that the log does not grow.
    pub(super) deferred_checkpoints: AtomicUsize,
    pub(crate) latest: LatestRevision,
    /// Why the last write failed for good, where it did.
    failure: Mutex<Option<String>>,
}

impl WriterStatus {
    pub(super) fn new(database: Arc<Database>) -> Self {
        Self {
            database,
            commits: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            failed_commits: AtomicU64::new(0),
            refused_writes: AtomicU64::new(0),
            given_up: AtomicBool::new(false),
            deferred_checkpoints: AtomicUsize::new(0),
            latest: LatestRevision::new(),
            failure: Mutex::default(),
        }
    }

    /// Why the last write failed for good, where it did: not because others were busy, but because the disk is full, the
    /// database may only be read, or a commit did not come to its end.
    pub(crate) fn last_failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes what the last write came to.
    pub(super) fn note_outcome(&self, outcome: Result<(), String>) {
        if let Err(reason) = &outcome {
            self.database.note_failure(reason);
        }
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = outcome.err();
    }

    /// Notes a transaction with so many writes in it, and the newest revision that it made.
    pub(super) fn note_commit(&self, writes: u64, latest: Option<Revision>) {
        self.commits.fetch_add(u64::from(writes > 0), Relaxed);
        self.writes.fetch_add(writes, Relaxed);
        if let Some(latest) = latest {
            self.latest.advance(latest);
        }
    }

    /// Notes that a transaction came to nothing.
    pub(super) fn note_interruption(&self, interruption: &Interruption) {
        self.failed_commits.fetch_add(1, Relaxed);
        if !interruption.passing {
            self.note_outcome(Err(interruption.reason.clone()));
        }
    }

    /// Why nothing may be written, whatever it is.
    pub(super) fn refusal(&self) -> Option<Interruption> {
        self.given_up.load(Relaxed).then(|| {
            let reason = "an earlier commit did not reach the disk, so nothing is written until a restart";
            Interruption::unavailable(reason.to_owned())
        })
    }
}

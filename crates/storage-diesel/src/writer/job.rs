//! A queued write, and the caller that waits for it.

use super::thread::TransactionError;
use crate::{failure::WorkError, table::history::Write};
use companion_domain::port::StoreError;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::AcqRel},
    },
};
use tokio::sync::oneshot;

/// A write that shares its transaction with others.
pub(super) trait Job: Send {
    /// Marks the job as started, and returns whether it may run, because a caller still waits for it. It cannot be
    /// withdrawn afterwards.
    fn begin(&self) -> bool;

    fn run(&mut self, write: &mut Write<'_>) -> JobOutcome;

    /// Answers the caller. The error of its transaction replaces a successful outcome, because it
    /// undid the writes.
    fn answer(self: Box<Self>, error: Option<&TransactionError>);
}

/// Runs work and records its changes. A panic is an error, and the rollback discards what it leaves behind.
pub(super) fn run<T>(
    write: &mut Write<'_>,
    work: impl FnOnce(&mut Write<'_>) -> Result<T, WorkError>,
) -> Result<T, WorkError> {
    let done = catch_unwind(AssertUnwindSafe(|| {
        let value = work(write)?;
        write.record_noted()?;
        Ok(value)
    }));
    done.unwrap_or(Err(WorkError::Panicked))
}

/// The outcome of running a job.
pub(super) enum JobOutcome {
    Kept,
    RolledBack,
    /// Rolled back because the database failed, for a reason other than contention.
    Failed(String),
}

/// The only kind of job: a closure.
pub(super) struct Task<T, F> {
    /// Set once, by the thread that starts the job or by the caller that withdraws it.
    settled: Arc<AtomicBool>,
    work: Option<F>,
    outcome: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Task<T, F> {
    pub(super) fn new(work: F) -> (Self, Answer<T>) {
        let (reply, answer) = oneshot::channel();
        let settled = Arc::new(AtomicBool::new(false));
        let answer = Answer { settled: Arc::clone(&settled), answer };
        (Self { settled, work: Some(work), outcome: None, reply }, answer)
    }
}

/// The pending answer to a queued or running job.
pub(crate) struct Answer<T> {
    settled: Arc<AtomicBool>,
    answer: oneshot::Receiver<Result<T, StoreError>>,
}

impl<T> Answer<T> {
    /// Waits until the job is committed or has failed.
    pub(crate) async fn wait(&mut self) -> Result<T, StoreError> {
        let answer = (&mut self.answer).await;
        answer.unwrap_or_else(|_| Err(StoreError::unavailable("the storage was closed")))
    }

    /// Withdraws the job. Returns `false` if it has started; otherwise it will never run.
    pub(crate) fn withdraw(&self) -> bool {
        !self.settled.swap(true, AcqRel)
    }
}

impl<T, F> Job for Task<T, F>
where
    T: Send,
    F: FnOnce(&mut Write<'_>) -> Result<T, WorkError> + Send,
{
    fn begin(&self) -> bool {
        !self.reply.is_closed() && !self.settled.swap(true, AcqRel)
    }

    fn run(&mut self, write: &mut Write<'_>) -> JobOutcome {
        let Some(work) = self.work.take() else {
            return JobOutcome::RolledBack;
        };
        let done = run(write, work);
        let outcome = match &done {
            Ok(_) => JobOutcome::Kept,
            Err(failure) if failure.is_database_fault() => JobOutcome::Failed(failure.to_string()),
            Err(_) => JobOutcome::RolledBack,
        };
        self.outcome = Some(done.map_err(StoreError::from));
        outcome
    }

    fn answer(self: Box<Self>, error: Option<&TransactionError>) {
        let result = match (self.outcome, error) {
            (Some(Err(own)), _) => Err(own),
            (_, Some(why)) => Err(why.clone().into()),
            (Some(Ok(value)), None) => Ok(value),
            (None, None) => Err(StoreError::unavailable("the write was withdrawn")),
        };
        // The receiver is gone if the caller was cancelled.
        let _ = self.reply.send(result);
    }
}

//! A piece of work, and whoever waits for it.

use super::thread::Interruption;
use crate::{failure::Failure, table::history::Write};
use companion_domain::port::StoreError;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{
            AtomicBool,
            Ordering::{AcqRel, Acquire},
        },
    },
};
use tokio::sync::oneshot;

/// Something to do in a transaction that it shares with others.
pub(super) trait Job: Send {
    /// Whether anyone still waits for it.
    fn is_wanted(&self) -> bool;

    /// Begins it, unless nobody waits for it any more. From then on it cannot be withdrawn.
    fn begin(&self) -> bool;

    fn run(&mut self, write: &mut Write<'_>) -> Ran;

    /// Tells whoever waits. An interruption undid it, whatever it says itself.
    fn answer(self: Box<Self>, interruption: Option<&Interruption>);
}

/// What becomes of what a job did.
pub(super) enum Ran {
    Kept,
    Undone,
    /// Undone because the database failed, and for good as far as one can tell.
    Failed(String),
}

/// The one kind of job: a closure.
pub(super) struct Task<T, F> {
    /// Set by whoever is first: the thread that begins it, or the caller who withdraws it.
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

/// The answer to a job that is waiting or being done.
pub(crate) struct Answer<T> {
    settled: Arc<AtomicBool>,
    answer: oneshot::Receiver<Result<T, StoreError>>,
}

impl<T> Answer<T> {
    /// Waits until the job is committed, or has failed.
    pub(crate) async fn wait(&mut self) -> Result<T, StoreError> {
        let answer = (&mut self.answer).await;
        answer.unwrap_or_else(|_| Err(StoreError::unavailable("the storage was closed")))
    }

    /// Takes the job back where it has not begun. Then it never will.
    pub(crate) fn withdraw(&self) -> bool {
        !self.settled.swap(true, AcqRel)
    }
}

impl<T, F> Job for Task<T, F>
where
    T: Send,
    F: FnOnce(&mut Write<'_>) -> Result<T, Failure> + Send,
{
    fn is_wanted(&self) -> bool {
        !self.reply.is_closed() && !self.settled.load(Acquire)
    }

    fn begin(&self) -> bool {
        !self.reply.is_closed() && !self.settled.swap(true, AcqRel)
    }

    fn run(&mut self, write: &mut Write<'_>) -> Ran {
        let Some(work) = self.work.take() else {
            return Ran::Undone;
        };
        // What a panic leaves behind is rolled back.
        let done = catch_unwind(AssertUnwindSafe(|| {
            let value = work(write)?;
            write.record_noted()?;
            Ok(value)
        }));
        let done = done.unwrap_or_else(|_| Err(Failure::Panicked));
        let ran = match &done {
            Ok(_) => Ran::Kept,
            Err(failure) if failure.is_lasting() => Ran::Failed(failure.to_string()),
            Err(_) => Ran::Undone,
        };
        self.outcome = Some(done.map_err(StoreError::from));
        ran
    }

    fn answer(self: Box<Self>, interruption: Option<&Interruption>) {
        let result = match (self.outcome, interruption) {
            (Some(Err(own)), _) => Err(own),
            (_, Some(why)) => Err(why.clone().into()),
            (Some(Ok(value)), None) => Ok(value),
            (None, None) => Err(StoreError::unavailable("the write was not wanted any more")),
        };
        // Whoever left does not want to know.
        let _ = self.reply.send(result);
    }
}

//! Many callers at once, and callers that stop waiting.

use super::Fresh;
use futures_util::{StreamExt as _, stream};
use std::{fmt::Debug, future::poll_fn, panic::resume_unwind, pin::pin, sync::Arc, task::Poll};
use tokio::sync::Barrier;

/// Enough callers that a race that can be lost is lost.
pub const CALLERS: u64 = 32;

impl<P: ?Sized + Send + Sync + 'static> Fresh<P> {
    /// Runs [`CALLERS`] tasks that start together, over both handles in turn, and returns what they gave by number. Both
    /// handles are settled before and after it.
    pub(super) async fn concurrently<T, F>(&self, task: impl Fn(u64, Arc<P>) -> F) -> Vec<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.settle().await;
        let start = Arc::new(Barrier::new(usize::try_from(CALLERS).unwrap()));
        let running: Vec<_> = (0..CALLERS)
            .map(|number| {
                let handle = if number % 2 == 0 { &self.one } else { &self.other };
                let (task, start) = (task(number, Arc::clone(handle)), Arc::clone(&start));
                tokio::spawn(async move {
                    start.wait().await;
                    task.await
                })
            })
            .collect();
        let mut results = Vec::new();
        for task in running {
            match task.await {
                Ok(result) => results.push(result),
                Err(failed) => resume_unwind(failed.into_panic()),
            }
        }
        self.settle().await;
        results
    }
}

/// Runs these some at a time: a store that commits what is waiting at once is done soon, and none has to turn anyone
/// away.
pub(super) async fn all_of<F: Future>(writes: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    stream::iter(writes).buffered(16).collect().await
}

/// More polls than any write takes.
const MOST: u64 = 2000;

/// Polls a future so often at most, and drops it where it was.
async fn polled<F: Future>(future: F, times: u64) -> Option<F::Output> {
    let (mut future, mut left) = (pin!(future), times);
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// A write that is given up at each of its awaits, and what it must leave behind. All of it is about the things of one
/// number, and what is looked at is the same for every number.
pub(super) struct GivenUp<'a, P: ?Sized, Ready, Write, Look, Further> {
    pub(super) fresh: &'a Fresh<P>,
    /// What the write is, for whoever reads that it failed.
    pub(super) what: &'static str,
    /// Makes ready for the write.
    pub(super) ready: Ready,
    pub(super) write: Write,
    /// What there is to see of it.
    pub(super) look: Look,
    /// Another write, which changes nothing of that.
    pub(super) further: Further,
}

impl<P, Ready, Write, Look, Further, Made, Written, Seen, Other> GivenUp<'_, P, Ready, Write, Look, Further>
where
    P: ?Sized,
    Ready: AsyncFn(&Arc<P>, u64) -> Made,
    Write: AsyncFn(&Arc<P>, u64) -> Written,
    Look: AsyncFn(&Arc<P>, u64) -> Seen,
    Further: AsyncFn(&Arc<P>) -> Other,
    Seen: PartialEq + Debug,
{
    /// Gives the write up after no poll, one poll, two and so on until it is done, and sees each time that there is either
    /// what was there before or what the whole write leaves.
    pub(super) async fn leaves_all_or_nothing(&self) {
        let Self { fresh, what, ready, write, .. } = self;
        ready(&fresh.one, 0).await;
        let before = self.seen(0).await;
        write(&fresh.one, 0).await;
        let after = self.seen(0).await;
        assert_ne!(before, after, "{what} changes something");
        for polls in 0..MOST {
            let number = polls + 1;
            ready(&fresh.one, number).await;
            let done = polled(write(&fresh.one, number), polls).await.is_some();
            let mut seen = self.seen(number).await;
            // What was given up may still be written by someone else, but not half of it.
            for _ in 0..50 {
                if seen == before || seen == after {
                    break;
                }
                tokio::task::yield_now().await;
                seen = self.seen(number).await;
            }
            assert!(
                seen == before || seen == after,
                "half of {what}, given up after {polls} polls: {seen:?}"
            );
            if done {
                assert_eq!(seen, after, "{what} was answered");
                return;
            }
        }
        panic!("{what} does not end");
    }

    /// What the other handle shows once everything that came before is done: a store that writes one thing after another
    /// has done it when it answers a further write.
    async fn seen(&self, number: u64) -> Seen {
        (self.further)(&self.fresh.one).await;
        self.fresh.settle().await;
        (self.look)(&self.fresh.other, number).await
    }
}

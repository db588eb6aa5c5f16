//! Concurrent callers, and cancelled ones.

use super::Fresh;
use futures_util::{StreamExt as _, future::try_join_all, stream};
use std::{
    fmt::Debug,
    future::poll_fn,
    num::NonZeroU32,
    panic::resume_unwind,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::Poll,
};
use tokio::{sync::Barrier, task::JoinHandle};

/// Enough callers to make races likely.
pub const CALLERS: u64 = 32;

impl<P: ?Sized + Send + Sync + 'static> Fresh<P> {
    /// Runs [`CALLERS`] tasks that start together, on alternating handles, and returns their results by number. Settles
    /// both handles before and after.
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

/// Reads through both handles while a writer writes, until both have run often enough to interfere. `write` gets the
/// number of the round, from 1.
pub(super) async fn reading_while_writing<P, F, T>(
    fresh: &Fresh<P>,
    read: impl Fn(Arc<P>) -> F + Clone + Send + 'static,
    write: impl AsyncFn(u64) -> T,
) where
    P: ?Sized + Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    fresh.settle().await;
    let (done, reads) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let readers = [&fresh.one, &fresh.other].map(|handle| {
        let (handle, read) = (Arc::clone(handle), read.clone());
        let (done, reads) = (Arc::clone(&done), Arc::clone(&reads));
        tokio::spawn(async move {
            while !done.load(Ordering::SeqCst) {
                read(Arc::clone(&handle)).await;
                reads.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
            }
        })
    });
    for round in 1.. {
        write(round).await;
        if (round > 20 && reads.load(Ordering::SeqCst) > 50) || readers.iter().any(JoinHandle::is_finished) {
            break;
        }
        tokio::task::yield_now().await;
    }
    done.store(true, Ordering::SeqCst);
    // Not one after the other: a wrong adapter may wait for a further write.
    try_join_all(readers).await.unwrap();
}

/// Runs these writes with limited concurrency: a store with group commit finishes soon, and no store has to refuse
/// writes.
pub(super) async fn all_of<F: Future>(writes: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    stream::iter(writes).buffered(usize::try_from(CALLERS).unwrap()).collect().await
}

/// Reads everything in pages of this length, and calls `between` with the last entry of each page. Asserts that no page
/// is too long, and that only the last is not full.
pub(super) async fn pages<T: Clone>(
    limit: u32,
    page: impl AsyncFn(Option<T>, NonZeroU32) -> Vec<T>,
    between: impl AsyncFn(T),
) -> Vec<T> {
    let mut all: Vec<T> = Vec::new();
    loop {
        let next = page(all.last().cloned(), NonZeroU32::new(limit).unwrap()).await;
        let (length, last) = (next.len(), next.last().cloned());
        assert!(length <= limit as usize && all.len() < 10_000, "pages are short, and end");
        all.extend(next);
        match last {
            Some(last) if length == limit as usize => between(last).await,
            Some(last) => {
                between(last).await;
                assert!(
                    page(all.last().cloned(), NonZeroU32::MIN).await.is_empty(),
                    "only the last page is not full"
                );
                return all;
            }
            None => return all,
        }
    }
}

/// More polls than any write takes.
const MAX_POLLS: u64 = 2000;

/// Polls a future at most `times` times, then drops it.
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

/// A write that is cancelled at each of its await points, and its allowed effects. Everything concerns the entities of
/// one number, and `look` returns comparable values for every number.
pub(super) struct CancelledWrite<'a, P: ?Sized, Ready, Write, Look, Further> {
    pub(super) fresh: &'a Fresh<P>,
    /// The name of the write in failure messages.
    pub(super) what: &'a str,
    /// Prepares the write.
    pub(super) ready: Ready,
    pub(super) write: Write,
    /// Returns the visible effects.
    pub(super) look: Look,
    /// An unrelated write.
    pub(super) further: Further,
}

impl<P, Ready, Write, Look, Further, Made, Written, Seen, Other>
    CancelledWrite<'_, P, Ready, Write, Look, Further>
where
    P: ?Sized,
    Ready: AsyncFn(&Arc<P>, u64) -> Made,
    Write: AsyncFn(&Arc<P>, u64) -> Written,
    Look: AsyncFn(&Arc<P>, u64) -> Seen,
    Further: AsyncFn(&Arc<P>) -> Other,
    Seen: PartialEq + Debug,
{
    /// Cancels the write after zero polls, one poll, two and so on until it completes. Asserts each time that the
    /// effects are either none or complete.
    pub(super) async fn leaves_all_or_nothing(&self) {
        let Self { fresh, what, ready, write, .. } = self;
        ready(&fresh.one, 0).await;
        let before = self.seen(0).await;
        write(&fresh.one, 0).await;
        let after = self.seen(0).await;
        assert_ne!(before, after, "{what} changes something");
        for polls in 0..MAX_POLLS {
            let number = polls + 1;
            ready(&fresh.one, number).await;
            let done = polled(write(&fresh.one, number), polls).await.is_some();
            let mut seen = self.seen(number).await;
            // A cancelled write may still be applied in the background, but never partially.
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

    /// Returns what the other handle shows once all earlier writes are done: a store that serializes writes has applied
    /// them when it acknowledges an unrelated one.
    async fn seen(&self, number: u64) -> Seen {
        (self.further)(&self.fresh.one).await;
        self.fresh.settle().await;
        (self.look)(&self.fresh.other, number).await
    }
}

//! Concurrent callers, and cancelled ones.

use super::Fresh;
use futures_util::{StreamExt as _, future::try_join_all, stream};
use std::{
    fmt::Debug,
    future::poll_fn,
    num::NonZeroU32,
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
        let results = try_join_all(running).await.unwrap();
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
    let (mut all, limit): (Vec<T>, _) = (Vec::new(), NonZeroU32::new(limit).unwrap());
    loop {
        let next = page(all.last().cloned(), limit).await;
        assert!(next.len() <= limit.get() as usize && all.len() < 10_000, "pages are short, and end");
        let Some(last) = next.last().cloned() else { return all };
        let is_full = next.len() == limit.get() as usize;
        all.extend(next);
        between(last).await;
        if !is_full {
            let more = page(all.last().cloned(), NonZeroU32::MIN).await;
            assert!(more.is_empty(), "only the last page is not full");
            return all;
        }
    }
}

/// More polls than any write takes.
const MAX_POLLS: u64 = 2000;

/// Polls a future at most `times` times, then drops it.
async fn polled<F: Future>(future: F, times: u64) -> Option<F::Output> {
    let (mut future, mut left) = (pin!(future), times);
    poll_fn(|context| {
        let Some(fewer) = left.checked_sub(1) else { return Poll::Ready(None) };
        left = fewer;
        match future.as_mut().poll(context) {
            Poll::Pending if left == 0 => Poll::Ready(None),
            polled => polled.map(Some),
        }
    })
    .await
}

/// Cancels a write after zero polls, one poll, two and so on until it completes. Asserts each time that its effects are
/// either none or complete. Each attempt concerns the entities of one number: `ready` prepares it, and `look` returns
/// what is visible of it, comparable between numbers. `further` is an unrelated write: a store that serializes writes has
/// applied all earlier ones when it acknowledges that.
pub(super) async fn cancelled<P: ?Sized, Made, Written, Seen: PartialEq + Debug, Other>(
    fresh: &Fresh<P>,
    what: &str,
    ready: impl AsyncFn(&Arc<P>, u64) -> Made,
    write: impl AsyncFn(&Arc<P>, u64) -> Written,
    look: impl AsyncFn(&Arc<P>, u64) -> Seen,
    further: impl AsyncFn(&Arc<P>) -> Other,
) {
    let seen = async |number| {
        further(&fresh.one).await;
        fresh.settle().await;
        look(&fresh.other, number).await
    };
    ready(&fresh.one, 0).await;
    let before = seen(0).await;
    write(&fresh.one, 0).await;
    let after = seen(0).await;
    assert_ne!(before, after, "{what} changes something");
    for polls in 0..MAX_POLLS {
        let number = polls + 1;
        ready(&fresh.one, number).await;
        let done = polled(write(&fresh.one, number), polls).await.is_some();
        let mut now = seen(number).await;
        // A cancelled write may still be applied in the background, but never partially.
        for _ in 0..50 {
            if now == before || now == after {
                break;
            }
            tokio::task::yield_now().await;
            now = seen(number).await;
        }
        assert!(now == before || now == after, "half of {what}, given up after {polls} polls: {now:?}");
        if done {
            assert_eq!(now, after, "{what} was answered");
            return;
        }
    }
    panic!("{what} does not end");
}

//! Many concurrent callers.

use super::Fresh;
use futures_util::{StreamExt as _, stream};
use std::{panic::resume_unwind, sync::Arc};
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

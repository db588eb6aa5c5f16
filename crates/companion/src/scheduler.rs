//! Work beside the requests, on the runtime of the program.

use async_trait::async_trait;
use companion_domain::port::{Scheduler, Work};
use std::time::Duration;
use tokio::{
    runtime::Handle,
    time::{sleep, timeout},
};
use tokio_util::task::TaskTracker;

/// Runs work on the runtime it was made in, whichever thread hands it over: the threads of a listener end with the
/// listener, and would take the work with them.
#[derive(Debug, Clone)]
pub struct TokioScheduler {
    runtime: Handle,
    tasks: TaskTracker,
}

impl TokioScheduler {
    /// Runs work here. To be called within a tokio runtime.
    #[must_use]
    pub fn here() -> Self {
        Self { runtime: Handle::current(), tasks: TaskTracker::new() }
    }
}

#[async_trait]
impl Scheduler for TokioScheduler {
    fn start(&self, work: Work) {
        drop(self.tasks.spawn_on(work, &self.runtime));
    }

    async fn pause(&self, length: Duration) {
        sleep(length).await;
    }

    /// Every step of the work is one atomic operation of a port, so what is cut off leaves nothing half done.
    async fn finish(&self, patience: Duration) {
        self.tasks.close();
        if timeout(patience, self.tasks.wait()).await.is_err() {
            tracing::info!(left = self.tasks.len(), "stopped before all background work had finished");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    };
    use tokio::sync::oneshot;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn work_outlives_the_thread_that_handed_it_over_and_is_waited_for_at_the_end() {
        let scheduler = TokioScheduler::here();
        let (go, gone) = oneshot::channel::<()>();
        let done = Arc::new(AtomicBool::new(false));
        let (elsewhere, mark) = (scheduler.clone(), Arc::clone(&done));
        let hand_over = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                elsewhere.start(Box::pin(async move {
                    gone.await.unwrap();
                    mark.store(true, Relaxed);
                }));
            });
        };
        std::thread::spawn(hand_over).join().unwrap();
        scheduler.finish(Duration::ZERO).await;
        assert!(!done.load(Relaxed));
        go.send(()).unwrap();
        scheduler.finish(Duration::from_secs(60)).await;
        assert!(done.load(Relaxed));
    }
}

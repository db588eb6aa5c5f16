//! Background tasks on the program's runtime.

use async_trait::async_trait;
use companion_domain::port::{Scheduler, Work};
use std::time::Duration;
use tokio::{
    runtime::Handle,
    time::{sleep, timeout},
};
use tokio_util::task::TaskTracker;

/// Runs tasks on the runtime in which it was created, whatever thread starts them. A listener's worker threads end with
/// the listener, and tasks spawned on them would be cancelled.
#[derive(Debug, Clone)]
pub struct TokioScheduler {
    runtime: Handle,
    tasks: TaskTracker,
}

impl TokioScheduler {
    /// Creates a scheduler on the current runtime.
    ///
    /// # Panics
    ///
    /// If called outside of a tokio runtime.
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

    /// Every step of a task is one atomic port operation, so a cancelled task leaves no partial write.
    async fn finish(&self, patience: Duration) {
        self.tasks.close();
        if timeout(patience, self.tasks.wait()).await.is_err() {
            tracing::info!(left = self.tasks.len(), "stopped before all background tasks had finished");
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
    async fn tasks_outlive_the_spawning_thread_and_finish_waits_for_them() {
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

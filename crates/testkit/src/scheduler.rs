//! Background tasks that a test can wait for.

use async_trait::async_trait;
use companion_domain::port::{Scheduler, Work};
use std::time::Duration;
use tokio::sync::watch;

/// Runs tasks on tokio. A test with `start_paused` does not wait for pauses.
#[derive(Debug, Default)]
pub struct TestScheduler {
    running: watch::Sender<usize>,
}

impl TestScheduler {
    /// Waits until all started tasks have ended.
    pub async fn settled(&self) {
        // The sender is alive, so waiting cannot fail.
        let _ = self.running.subscribe().wait_for(|running| *running == 0).await;
    }
}

/// Counts a task as running until dropped, however it ends.
struct Counted(watch::Sender<usize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running -= 1);
    }
}

#[async_trait]
impl Scheduler for TestScheduler {
    fn start(&self, work: Work) {
        self.running.send_modify(|running| *running += 1);
        let running = Counted(self.running.clone());
        tokio::spawn(async move {
            let _running = running;
            work.await;
        });
    }

    async fn pause(&self, length: Duration) {
        tokio::time::sleep(length).await;
    }

    async fn finish(&self, patience: Duration) {
        let _ = tokio::time::timeout(patience, self.settled()).await;
    }
}

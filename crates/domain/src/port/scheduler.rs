//! Work that goes on beside the requests.

use async_trait::async_trait;
use std::{pin::Pin, time::Duration};

/// Something to be done, whoever waits for it.
pub type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs work beside the requests, and lets time pass.
///
/// Time here is the time that a person waits; what has a date is judged by the [`Clock`](super::Clock).
#[async_trait]
pub trait Scheduler: Send + Sync {
    /// Starts the work and returns at once. It goes on to its end whatever becomes of the caller, and waits for no other
    /// work; only the end of the process cuts it off. In which order pieces of work get their turns is left open.
    fn start(&self, work: Work);

    /// Returns after this long.
    async fn pause(&self, length: Duration);

    /// Waits for everything that was started, also by work itself, but not longer than `patience`: the program is about to
    /// end.
    async fn finish(&self, patience: Duration);
}

//! Waiting for what must happen, but not for ever.

use std::time::{Duration, Instant};

/// Returns when the condition holds. It asks again and again, and fails the test after ten seconds of real time.
pub async fn eventually(mut holds: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < Duration::from_secs(60), "it did not happen");
        tokio::task::yield_now().await;
    }
}

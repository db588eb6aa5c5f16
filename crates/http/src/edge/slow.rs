//! Requests that took long, which is worth a line in the log whether or not every request has one.

use crate::repeated::{LineKind, Repeats};
use std::{sync::Arc, time::Duration};

/// No request should take longer. Half of it is spent when `GET /guilds` has waited in vain for the platform.
const SLOW: Duration = Duration::from_secs(2);

/// Slow requests of one endpoint.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct SlowKind {
    endpoint: Option<&'static str>,
}

impl LineKind for SlowKind {
    /// More than there are endpoints.
    const MOST: usize = 100;

    fn coarser(self) -> Self {
        Self { endpoint: None }
    }

    fn summarise(&self, repeated: u64) {
        tracing::warn!(endpoint = self.endpoint, repeated, "more requests were slow");
    }
}

/// Tells the log of a request that took too long.
pub(super) fn note(
    slow: &Arc<Repeats<SlowKind>>,
    endpoint: Option<&'static str>,
    request_id: &str,
    taken: Duration,
) {
    if taken >= SLOW && slow.is_first(SlowKind { endpoint }) {
        let milliseconds = taken.as_secs_f64() * 1000.0;
        tracing::warn!(request_id, endpoint, milliseconds, "a request was slow");
    }
}

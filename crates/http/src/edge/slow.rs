//! Logs slow requests, whether or not the access log is on.

use crate::{
    repeated::{LineKind, Repeats},
    request_id::RequestId,
};
use companion_domain::request::{Part, RequestContext};
use std::{sync::Arc, time::Duration};

/// Threshold of a slow request. It is twice as long as `GET /guilds` waits for a platform that does not respond.
const SLOW_THRESHOLD: Duration = Duration::from_secs(2);

/// Slow requests of one endpoint.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct SlowKind {
    endpoint: Option<&'static str>,
}

impl LineKind for SlowKind {
    /// More than there are endpoints.
    const MAX_KINDS: usize = 100;

    fn coarser(self) -> Self {
        Self { endpoint: None }
    }

    fn summarise(&self, repeated: u64) {
        tracing::warn!(endpoint = self.endpoint, repeated, "more requests were slow");
    }
}

/// Logs a request that took too long, and its time by part. The remainder was spent waiting: in a queue, for the
/// client, or for work shared with another request.
pub(super) fn note(
    slow: &Arc<Repeats<SlowKind>>,
    endpoint: Option<&'static str>,
    request_id: &RequestId,
    taken: Duration,
    context: Option<&RequestContext>,
) {
    if taken >= SLOW_THRESHOLD && slow.is_first(SlowKind { endpoint }) {
        let spent = |part| context.map(|context| microseconds(context.spent(part)));
        tracing::warn!(
            request_id = request_id.as_str(),
            endpoint,
            microseconds = microseconds(taken),
            storage_microseconds = spent(Part::Storage),
            provider_microseconds = spent(Part::Provider),
            rendering_microseconds = spent(Part::Rendering),
            "a request was slow"
        );
    }
}

/// Returns whole microseconds, the unit of durations in the log.
pub(super) fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

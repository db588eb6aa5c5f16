//! What is noted of a request when it comes in.

use crate::request_id::RequestId;
use actix_web::{HttpMessage as _, HttpRequest, http::header::HeaderMap};
use companion_domain::port::{Clock, Entropy};
use std::time::Duration;

/// The name of a request, and when it came in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receipt {
    pub(crate) id: RequestId,
    /// In monotonic time.
    since: Duration,
}

impl Receipt {
    /// Takes note of a request with these headers.
    pub(crate) fn new(headers: &HeaderMap, clock: &dyn Clock, entropy: &dyn Entropy) -> Self {
        Self { id: RequestId::of(headers, entropy), since: clock.monotonic() }
    }

    /// Leaves the receipt with its request, for handlers.
    pub(crate) fn attach(self, request: &HttpRequest) {
        request.extensions_mut().insert(self);
    }

    /// The receipt that came with this request.
    pub(crate) fn of(request: &HttpRequest) -> Option<Self> {
        request.extensions().get::<Self>().copied()
    }

    /// How long the request has taken so far.
    pub(crate) fn taken(&self, clock: &dyn Clock) -> Duration {
        self.taken_at(clock.monotonic())
    }

    /// The same by this monotonic time.
    pub(crate) fn taken_at(&self, monotonic: Duration) -> Duration {
        monotonic.saturating_sub(self.since)
    }
}

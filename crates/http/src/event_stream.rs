//! Server-sent events.

use actix_web::{
    HttpResponse, HttpResponseBuilder,
    http::header::{self, HeaderName, HeaderValue},
};
use std::time::Duration;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// Interval of keep-alive comments, so that proxies do not time out a quiet stream.
const BEAT: Duration = Duration::from_secs(15);
/// Disables response buffering in nginx.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Returns the head of an event stream response.
#[must_use]
pub fn event_stream() -> HttpResponseBuilder {
    let mut response = HttpResponse::Ok();
    response
        .insert_header((header::CONTENT_TYPE, "text/event-stream"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((X_ACCEL_BUFFERING, HeaderValue::from_static("no")));
    response
}

/// Ticks whenever a stream should send a keep-alive comment.
#[must_use]
pub fn beat() -> Interval {
    every(BEAT)
}

/// Ticks at this interval, first after one interval. Missed ticks are not made up.
#[must_use]
pub fn every(length: Duration) -> Interval {
    let mut interval = interval_at(Instant::now() + length, length);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

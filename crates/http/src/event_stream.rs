//! Answers without an end, as Server-Sent Events.

use actix_web::{
    HttpResponse, HttpResponseBuilder,
    http::header::{self, HeaderName, HeaderValue},
};
use std::time::Duration;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// How often a stream says that it is there, so that nobody on the way takes it for dead.
const BEAT: Duration = Duration::from_secs(15);
/// Tells nginx to pass events on as they come.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The head of such an answer.
#[must_use]
pub fn event_stream() -> HttpResponseBuilder {
    let mut response = HttpResponse::Ok();
    response
        .insert_header((header::CONTENT_TYPE, "text/event-stream"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((X_ACCEL_BUFFERING, HeaderValue::from_static("no")));
    response
}

/// Ticks whenever a stream should send a comment.
#[must_use]
pub fn beat() -> Interval {
    every(BEAT)
}

/// Ticks at this distance from now on, and never twice at once.
#[must_use]
pub fn every(length: Duration) -> Interval {
    let mut interval = interval_at(Instant::now() + length, length);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

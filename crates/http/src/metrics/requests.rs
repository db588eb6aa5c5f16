//! What one listener answered.

use super::{MetricsSource, MetricsText, histogram::Histogram};
use actix_web::http::StatusCode;
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

const ANSWERED: &str = "companion_http_requests_total";
const ANSWERED_HELP: &str = "Requests answered, by listener, endpoint and class of the code.";
const TOOK: &str = "companion_http_request_duration_seconds";
const TOOK_HELP: &str = "From the receipt of a request's head to its answer, by listener and endpoint.";
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
/// The endpoint of requests that reached none.
const NOWHERE: &str = "none";

/// What one listener answered, by endpoint.
#[derive(Debug)]
pub(crate) struct RequestMetrics {
    listener: &'static str,
    endpoints: Vec<Endpoint>,
    nowhere: Endpoint,
}

#[derive(Debug)]
struct Endpoint {
    path: &'static str,
    classes: [AtomicU64; CLASSES.len()],
    took: Histogram,
}

impl Endpoint {
    fn new(path: &'static str) -> Self {
        Self { path, classes: Default::default(), took: Histogram::default() }
    }
}

impl RequestMetrics {
    /// Counts for a listener that has these paths.
    pub(crate) fn new(listener: &'static str, paths: impl IntoIterator<Item = &'static str>) -> Self {
        let endpoints = paths.into_iter().map(Endpoint::new).collect();
        Self { listener, endpoints, nowhere: Endpoint::new(NOWHERE) }
    }

    /// Counts an answer of the path, where it reached one.
    pub(crate) fn answered(&self, path: Option<&str>, status: StatusCode, took: Duration) {
        let known = path.and_then(|path| self.endpoints.iter().find(|endpoint| endpoint.path == path));
        let endpoint = known.unwrap_or(&self.nowhere);
        if let Some(class) = endpoint.classes.get(usize::from(status.as_u16() / 100).saturating_sub(1)) {
            class.fetch_add(1, Ordering::Relaxed);
        }
        endpoint.took.observe(took);
    }
}

impl MetricsSource for RequestMetrics {
    fn write(&self, text: &mut MetricsText) {
        for Endpoint { path, classes, took } in self.endpoints.iter().chain([&self.nowhere]) {
            let labels = [("listener", self.listener), ("endpoint", path)];
            for (class, count) in CLASSES.iter().zip(classes) {
                let count = count.load(Ordering::Relaxed);
                // Nothing is ever answered with 1xx here, and hardly anything with 3xx.
                if count > 0 || matches!(*class, "2xx" | "4xx" | "5xx") {
                    let [listener, endpoint] = labels;
                    text.counter(ANSWERED, ANSWERED_HELP, &[listener, endpoint, ("code", class)], count);
                }
            }
            took.write(TOOK, TOOK_HELP, &labels, text);
        }
    }
}

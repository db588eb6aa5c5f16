//! Metrics of requests by listener, and of sign-ins.

use super::{MetricsSource, MetricsText, histogram::Histogram};
use crate::{audit::SUCCESS, error::ApiError};
use actix_web::http::StatusCode;
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

const ANSWERED: &str = "companion_http_requests_total";
const ANSWERED_HELP: &str = "Requests answered, by listener, endpoint and status code.";
const DURATION: &str = "companion_http_request_duration_seconds";
const DURATION_HELP: &str =
    "Time from the arrival of a request head to its response, by listener and endpoint.";
/// Every status code in use, the most frequent first. The set is closed, so that an unexpected code adds no series; it
/// counts as [`OTHER`].
const CODES: [u16; 21] =
    [200, 204, 302, 303, 304, 400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 431, 500, 502, 503, 504];
const OTHER: &str = "other";
/// Exported from the start, because a rate needs an earlier sample of the series.
const ALWAYS_EXPORTED: [u16; 3] = [200, 500, 503];
/// Endpoint label of requests that matched no route.
const UNROUTED: &str = "none";

/// Request metrics of one listener, by endpoint.
#[derive(Debug)]
pub(crate) struct RequestMetrics {
    listener: &'static str,
    endpoints: Vec<Endpoint>,
    unrouted: Endpoint,
}

#[derive(Debug)]
struct Endpoint {
    path: &'static str,
    codes: [AtomicU64; CODES.len()],
    other: AtomicU64,
    took: Histogram,
}

impl Endpoint {
    fn new(path: &'static str) -> Self {
        Self { path, codes: Default::default(), other: AtomicU64::default(), took: Histogram::default() }
    }
}

impl RequestMetrics {
    /// Creates the metrics of a listener with these paths.
    pub(crate) fn new(listener: &'static str, paths: &[&'static str]) -> Self {
        let endpoints = paths.iter().copied().map(Endpoint::new).collect();
        Self { listener, endpoints, unrouted: Endpoint::new(UNROUTED) }
    }

    /// Counts a response of this path; `None` for requests that matched no route.
    pub(crate) fn answered(&self, path: Option<&str>, status: StatusCode, took: Duration) {
        let known = path.and_then(|path| self.endpoints.iter().find(|endpoint| endpoint.path == path));
        let endpoint = known.unwrap_or(&self.unrouted);
        let code = CODES.iter().zip(&endpoint.codes).find(|(known, _)| **known == status.as_u16());
        code.map_or(&endpoint.other, |(_, count)| count).fetch_add(1, Ordering::Relaxed);
        endpoint.took.observe(took);
    }
}

impl MetricsSource for RequestMetrics {
    fn write(&self, text: &mut MetricsText) {
        for Endpoint { path, codes, other, took } in self.endpoints.iter().chain([&self.unrouted]) {
            let labels = [("listener", self.listener), ("endpoint", path)];
            let [listener, endpoint] = labels;
            let mut write = |code: &str, count: &AtomicU64, always: bool| {
                let count = count.load(Ordering::Relaxed);
                if count > 0 || always {
                    text.counter(ANSWERED, ANSWERED_HELP, &[listener, endpoint, ("code", code)], count);
                }
            };
            for (code, count) in CODES.iter().zip(codes) {
                write(&code.to_string(), count, ALWAYS_EXPORTED.contains(code));
            }
            write(OTHER, other, false);
            took.write(DURATION, DURATION_HELP, &labels, text);
        }
    }
}

/// Sign-ins by outcome: success, or the error word.
#[derive(Debug)]
pub(crate) struct SignInMetrics(Vec<(&'static str, AtomicU64)>);

impl SignInMetrics {
    /// Creates the metrics of sign-ins that can fail with these errors.
    pub(crate) fn new(errors: &[ApiError]) -> Self {
        let mut outcomes: Vec<_> = errors.iter().map(|error| error.problem().word).collect();
        outcomes.push(SUCCESS);
        outcomes.sort_unstable();
        outcomes.dedup();
        Self(outcomes.into_iter().map(|outcome| (outcome, AtomicU64::new(0))).collect())
    }

    /// Counts a completed sign-in.
    pub(crate) fn ended<T>(&self, outcome: Result<&T, &ApiError>) {
        let word = outcome.map_or_else(|error| error.problem().word, |_| SUCCESS);
        if let Some((_, count)) = self.0.iter().find(|(known, _)| *known == word) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl MetricsSource for SignInMetrics {
    fn write(&self, text: &mut MetricsText) {
        for (outcome, count) in &self.0 {
            let count = count.load(Ordering::Relaxed);
            text.counter("companion_sign_ins_total", "Sign-ins by outcome.", &[("outcome", outcome)], count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unexpected_codes_add_no_series() {
        let metrics = RequestMetrics::new("public", &["/"]);
        for code in [200, 299, 418, 599] {
            metrics.answered(Some("/"), StatusCode::from_u16(code).unwrap(), Duration::ZERO);
        }
        let mut text = MetricsText::default();
        metrics.write(&mut text);
        let page = text.render();
        let of_the_path = |line: &&str| line.starts_with(ANSWERED) && line.contains("endpoint=\"/\"");
        let counted: Vec<_> =
            page.lines().filter(of_the_path).filter_map(|line| line.split_once("code=")).collect();
        let counted: Vec<_> = counted.into_iter().map(|(_, counted)| counted).collect();
        assert_eq!(counted, ["\"200\"} 1", "\"500\"} 0", "\"503\"} 0", "\"other\"} 3"]);
    }
}

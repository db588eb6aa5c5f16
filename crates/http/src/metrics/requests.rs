//! Metrics of requests by listener, with a histogram of their durations, and of sign-ins.

use super::{Labels, MetricsSource, MetricsText, number};
use crate::{audit::SUCCESS, error::ApiError};
use actix_web::http::StatusCode;
use std::{
    collections::BTreeMap,
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
    /// The last one counts requests that matched no route.
    endpoints: Vec<Endpoint>,
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
        Self { listener, endpoints: paths.iter().copied().chain([UNROUTED]).map(Endpoint::new).collect() }
    }

    /// Counts a response of this path; `None` for requests that matched no route.
    pub(crate) fn answered(&self, path: Option<&str>, status: StatusCode, took: Duration) {
        let known = path.and_then(|path| self.endpoints.iter().find(|endpoint| endpoint.path == path));
        let Some(endpoint) = known.or(self.endpoints.last()) else { return };
        let code = CODES.iter().zip(&endpoint.codes).find(|(known, _)| **known == status.as_u16());
        code.map_or(&endpoint.other, |(_, count)| count).fetch_add(1, Ordering::Relaxed);
        endpoint.took.observe(took);
    }
}

impl MetricsSource for RequestMetrics {
    fn write(&self, text: &mut MetricsText) {
        for Endpoint { path, codes, other, took } in &self.endpoints {
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
            took.write(&labels, text);
        }
    }
}

/// Sign-ins by outcome: success, or the error word.
#[derive(Debug)]
pub(crate) struct SignInMetrics(BTreeMap<&'static str, AtomicU64>);

impl SignInMetrics {
    /// Creates the metrics of sign-ins that can fail with these errors.
    pub(crate) fn new(errors: &[ApiError]) -> Self {
        let outcomes = errors.iter().map(|error| error.problem().word).chain([SUCCESS]);
        Self(outcomes.map(|outcome| (outcome, AtomicU64::default())).collect())
    }

    /// Counts a completed sign-in.
    pub(crate) fn ended<T>(&self, outcome: Result<&T, &ApiError>) {
        let word = outcome.map_or_else(|error| error.problem().word, |_| SUCCESS);
        if let Some(count) = self.0.get(word) {
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

/// Upper bounds of the buckets in microseconds.
const BUCKETS: [u64; 14] = [
    250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000,
];

/// A histogram of the durations of requests.
#[derive(Debug, Default)]
struct Histogram {
    /// Counts per bucket, not cumulative.
    buckets: [AtomicU64; BUCKETS.len()],
    longer: AtomicU64,
    micros: AtomicU64,
}

impl Histogram {
    fn observe(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let fitting = BUCKETS.iter().zip(&self.buckets).find(|(end, _)| micros <= **end);
        fitting.map_or(&self.longer, |(_, count)| count).fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    fn write(&self, labels: Labels<'_>, text: &mut MetricsText) {
        let mut write = |suffix: &str, labels: Labels<'_>, value: String| {
            text.sample("histogram", DURATION, DURATION_HELP, suffix, labels, &value);
        };
        let mut all = 0;
        for (end, count) in BUCKETS.iter().zip(&self.buckets) {
            all += count.load(Ordering::Relaxed);
            let end = Duration::from_micros(*end).as_secs_f64().to_string();
            write("_bucket", &with_end(labels, &end), all.to_string());
        }
        all += self.longer.load(Ordering::Relaxed);
        let seconds = Duration::from_micros(self.micros.load(Ordering::Relaxed)).as_secs_f64();
        write("_bucket", &with_end(labels, "+Inf"), all.to_string());
        write("_sum", labels, number(seconds));
        write("_count", labels, all.to_string());
    }
}

fn with_end<'a>(labels: &[(&'static str, &'a str)], end: &'a str) -> Vec<(&'static str, &'a str)> {
    labels.iter().copied().chain([("le", end)]).collect()
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

    #[test]
    fn buckets_are_cumulative() {
        let histogram = Histogram::default();
        for micros in [0, 250, 251, 5_000_000, 5_000_001] {
            histogram.observe(Duration::from_micros(micros));
        }
        let mut text = MetricsText::default();
        histogram.write(&[("a", "b")], &mut text);
        let page = text.render();
        for line in [
            "bucket{a=\"b\",le=\"0.00025\"} 2",
            "bucket{a=\"b\",le=\"0.0005\"} 3",
            "bucket{a=\"b\",le=\"2.5\"} 3",
            "bucket{a=\"b\",le=\"5\"} 4",
            "bucket{a=\"b\",le=\"+Inf\"} 5",
            "sum{a=\"b\"} 10.000502",
            "count{a=\"b\"} 5",
        ] {
            assert!(page.contains(&format!("\n{DURATION}_{line}\n")), "{line} in\n{page}");
        }
    }
}

//! Histogram of durations.

use super::MetricsText;
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Upper bounds of the buckets in microseconds.
const BUCKETS: [u64; 14] = [
    250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000,
];

/// A histogram of durations.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    /// Counts per bucket, not cumulative.
    buckets: [AtomicU64; BUCKETS.len()],
    longer: AtomicU64,
    micros: AtomicU64,
}

impl Histogram {
    pub(super) fn observe(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let fitting = BUCKETS.iter().zip(&self.buckets).find(|(end, _)| micros <= **end);
        fitting.map_or(&self.longer, |(_, count)| count).fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    pub(super) fn write(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &[(&'static str, &str)],
        text: &mut MetricsText,
    ) {
        let mut write = |suffix: &str, labels: &[(&'static str, &str)], value: String| {
            text.sample("histogram", name, help, suffix, labels, &value);
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
        write("_sum", labels, super::number(seconds));
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
    fn buckets_are_cumulative() {
        let histogram = Histogram::default();
        for micros in [0, 250, 251, 5_000_000, 5_000_001] {
            histogram.observe(Duration::from_micros(micros));
        }
        let mut text = MetricsText::default();
        histogram.write("t", "Times.", &[("a", "b")], &mut text);
        let page = text.render();
        for line in [
            "t_bucket{a=\"b\",le=\"0.00025\"} 2",
            "t_bucket{a=\"b\",le=\"0.0005\"} 3",
            "t_bucket{a=\"b\",le=\"2.5\"} 3",
            "t_bucket{a=\"b\",le=\"5\"} 4",
            "t_bucket{a=\"b\",le=\"+Inf\"} 5",
            "t_sum{a=\"b\"} 10.000502",
            "t_count{a=\"b\"} 5",
        ] {
            assert!(page.lines().any(|found| found == line), "{line} in\n{page}");
        }
    }
}

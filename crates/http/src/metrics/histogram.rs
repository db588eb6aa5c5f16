//! Histogram of durations.

use super::MetricsText;
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Upper bounds of the buckets in microseconds, each with its label.
const BUCKETS: [(u64, &str); 14] = [
    (250, "0.00025"),
    (500, "0.0005"),
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (2_500_000, "2.5"),
    (5_000_000, "5"),
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
        let fitting = BUCKETS.iter().zip(&self.buckets).find(|((end, _), _)| micros <= *end);
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
        let mut all = 0;
        for ((_, end), count) in BUCKETS.iter().zip(&self.buckets) {
            all += count.load(Ordering::Relaxed);
            text.histogram((name, "_bucket"), help, &with_end(labels, end), &all.to_string());
        }
        all += self.longer.load(Ordering::Relaxed);
        let seconds = Duration::from_micros(self.micros.load(Ordering::Relaxed)).as_secs_f64();
        text.histogram((name, "_bucket"), help, &with_end(labels, "+Inf"), &all.to_string());
        text.histogram((name, "_sum"), help, labels, &super::number(seconds));
        text.histogram((name, "_count"), help, labels, &all.to_string());
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

    #[test]
    fn bucket_labels_match_their_bounds() {
        for (micros, name) in BUCKETS {
            assert_eq!(Duration::from_micros(micros).as_secs_f64(), name.parse::<f64>().unwrap());
        }
    }
}

//! What was measured.

use std::time::Duration;

/// How long the same thing took, again and again.
#[derive(Default)]
pub(super) struct Times(Vec<Duration>);

impl Times {
    pub(super) const fn of(times: Vec<Duration>) -> Self {
        Self(times)
    }

    pub(super) fn extend(&mut self, times: impl IntoIterator<Item = Duration>) {
        self.0.extend(times);
    }

    pub(super) fn worst(&self) -> Duration {
        self.0.iter().max().copied().unwrap()
    }

    /// Prints a row of the table.
    pub(super) fn tell(&self, what: &str) {
        let mut sorted = self.0.clone();
        sorted.sort();
        let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
        let (median, worst) = (milliseconds(sorted[sorted.len() / 2]), milliseconds(self.worst()));
        println!("| {what} | {} | {median:.0} ms | {worst:.0} ms |", sorted.len());
    }
}

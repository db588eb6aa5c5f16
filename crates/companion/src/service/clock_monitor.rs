//! Detects whether the date of the machine can be trusted.

use companion_domain::model::Timestamp;
use std::time::Duration;

/// A date that has advanced steadily for this long is trusted. A machine that boots with a wrong date is corrected
/// within minutes.
const PROVEN_AFTER: Duration = Duration::from_secs(60 * 60);
/// Smaller differences between two observations are no jump: clocks are adjusted a little all the time.
const JUMP: Duration = Duration::from_secs(5 * 60);

/// Checks whether the date advances at the rate of monotonic time.
#[derive(Default)]
pub(super) struct ClockMonitor {
    last: Option<(Timestamp, Duration)>,
    /// Monotonic time since which the date advances steadily.
    since: Duration,
    jumped: bool,
}

/// How far the date can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClockState {
    /// It has advanced steadily, but for less than [`PROVEN_AFTER`].
    Unproven,
    /// It has advanced steadily for at least [`PROVEN_AFTER`].
    Proven,
    /// It jumped less than [`PROVEN_AFTER`] ago.
    Jumped,
}

impl ClockMonitor {
    /// Records the date at a monotonic time, and returns the state.
    pub(super) fn observe(&mut self, date: Timestamp, monotonic: Duration) -> ClockState {
        let expected = match self.last.replace((date, monotonic)) {
            Some((last, then)) => last.after(monotonic.saturating_sub(then)),
            None => {
                self.since = monotonic;
                date
            }
        };
        if date.since(expected).max(expected.since(date)) > JUMP {
            (self.jumped, self.since) = (true, monotonic);
        }
        match (monotonic.saturating_sub(self.since) >= PROVEN_AFTER, self.jumped) {
            (true, _) => ClockState::Proven,
            (false, true) => ClockState::Jumped,
            (false, false) => ClockState::Unproven,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);
    const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

    /// Observes every ten minutes a date that is wrong as given.
    fn looks(wrong: &[fn(Timestamp) -> Timestamp]) -> Vec<ClockState> {
        let mut clock_monitor = ClockMonitor::default();
        let observe = |(number, wrong): (u32, &fn(Timestamp) -> Timestamp)| {
            let passed = 10 * MINUTE * number;
            let date = Timestamp::EPOCH.after(50 * YEAR).after(passed);
            clock_monitor.observe(wrong(date), 7 * MINUTE + passed)
        };
        (0..).zip(wrong).map(observe).collect()
    }

    const RIGHT: fn(Timestamp) -> Timestamp = |date| date;
    const SLOW: fn(Timestamp) -> Timestamp = |date| date.before(5 * MINUTE);
    const BACK: fn(Timestamp) -> Timestamp = |date| date.before(YEAR);
    const FORTH: fn(Timestamp) -> Timestamp = |date| date.after(6 * MINUTE);

    #[test]
    fn a_date_is_proven_after_a_steady_hour_despite_adjustments() {
        use ClockState::{Proven, Unproven};
        let verdicts = looks(&[RIGHT, SLOW, RIGHT, RIGHT, SLOW, SLOW, RIGHT, RIGHT]);
        assert_eq!(verdicts, [[Unproven; 6].as_slice(), &[Proven; 2]].concat());
    }

    #[test]
    fn a_jump_in_either_direction_counts_for_an_hour() {
        use ClockState::{Jumped, Proven};
        for wrong in [BACK, FORTH] {
            let verdicts = looks(&[RIGHT, wrong, wrong, wrong, wrong, wrong, wrong, wrong, wrong]);
            assert_eq!(verdicts[1..], [[Jumped; 6].as_slice(), &[Proven; 2]].concat());
            let verdicts = looks(&[RIGHT, wrong, RIGHT, RIGHT, RIGHT, RIGHT, RIGHT, RIGHT, RIGHT]);
            assert_eq!(verdicts[1..], [[Jumped; 7].as_slice(), &[Proven]].concat());
        }
    }
}

//! Points in time and durations.

use super::Invalid;
use crate::named::parsed;
use std::{fmt, time::Duration};

const MICROS: i64 = 1_000_000;

/// Maximum difference between the clocks of two nodes. A stored time up to this far ahead was written by such a
/// clock. A later one was written before a clock was set back.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(5 * 60);

/// A point in time: microseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// 1970-01-01 UTC.
    pub const EPOCH: Self = Self(0);
    /// The last second accepted from callers: the end of the year 9999.
    pub const MAX_SECONDS: i64 = 253_402_300_799;
    /// The age of a time that lies too far ahead: 2³¹ seconds, which HTTP treats as too large to represent.
    pub const LONG_AGO: Duration = Duration::from_secs(1 << 31);

    /// Creates a time from microseconds since the epoch.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Creates a time from seconds since the epoch, for times given by callers.
    pub fn from_seconds(seconds: i64) -> Result<Self, Invalid> {
        if (0..=Self::MAX_SECONDS).contains(&seconds) {
            Ok(Self(seconds * MICROS))
        } else {
            Err(Invalid::new("timestamp", "seconds since 1970, from 0 to 253402300799"))
        }
    }

    /// Returns microseconds since the epoch.
    #[must_use]
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Returns whole seconds since the epoch.
    #[must_use]
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(MICROS)
    }

    /// Returns the time `length` later, saturating.
    #[must_use]
    pub fn after(self, length: Duration) -> Self {
        Self(self.0.saturating_add(micros_of(length)))
    }

    /// Returns the time `length` earlier, saturating.
    #[must_use]
    pub fn before(self, length: Duration) -> Self {
        Self(self.0.saturating_sub(micros_of(length)))
    }

    /// Returns the latest stored time that counts as now. A later one counts as long ago for data that can be fetched
    /// again. For a session it counts as now, since a wrong clock must sign no user out.
    #[must_use]
    pub fn horizon(self) -> Self {
        self.after(MAX_CLOCK_SKEW)
    }

    /// Returns the age of data that was stored at `stored` and can be fetched again. Up to the
    /// [`horizon`](Self::horizon) it is zero, beyond it [`LONG_AGO`](Self::LONG_AGO).
    #[must_use]
    pub fn age_of(self, stored: Self) -> Duration {
        if stored > self.horizon() { Self::LONG_AGO } else { self.since(stored) }
    }

    /// Returns how long ago `earlier` was, or zero if it is not earlier.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

fn micros_of(length: Duration) -> i64 {
    i64::try_from(length.as_micros()).unwrap_or(i64::MAX)
}

/// A positive duration in human-readable form: `500ms`, `1s`, `5m`, `24h`, `30d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(Duration);

/// Units by their length in milliseconds, longest first.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];
/// A hundred years. A longer span is a typing error, and would overflow timestamps.
const MAX_MILLIS: u64 = 36_500 * 86_400_000;

impl Span {
    /// Creates a span of whole seconds. Zero becomes the shortest span, a millisecond.
    #[must_use]
    pub const fn from_seconds(seconds: u32) -> Self {
        if seconds == 0 { Self(Duration::from_millis(1)) } else { Self(Duration::from_secs(seconds as u64)) }
    }

    /// Returns the span as a [`Duration`].
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0
    }
}

parsed!(Span, "duration", "a number and a unit (ms, s, m, h, d), like 500ms or 24h, up to 36500d", |text| {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let (_, length) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let millis = number.parse::<u64>().ok()?.checked_mul(*length)?;
    (1..=MAX_MILLIS).contains(&millis).then_some(Self(Duration::from_millis(millis)))
});

impl fmt::Display for Span {
    /// Writes the shortest exact spelling, which parses back to the same span.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        let exact = UNITS.iter().find(|(_, length)| millis.is_multiple_of(u128::from(*length)));
        let (unit, length) = exact.unwrap_or(&("ms", 1));
        write!(f, "{}{unit}", millis / u128::from(*length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn accepts_seconds_from_1970_to_9999() {
        assert_eq!(Timestamp::from_seconds(0), Ok(Timestamp::EPOCH));
        assert_eq!(
            Timestamp::from_seconds(Timestamp::MAX_SECONDS).map(Timestamp::seconds),
            Ok(253_402_300_799)
        );
        for seconds in [-1, Timestamp::MAX_SECONDS + 1, i64::MAX] {
            assert_eq!(Timestamp::from_seconds(seconds).unwrap_err().field, "timestamp");
        }
    }

    #[test]
    fn arithmetic_saturates() {
        let time = Timestamp::from_seconds(100).unwrap();
        assert_eq!(time.after(Duration::from_millis(1)).micros(), 100_001_000);
        assert_eq!(time.before(Duration::from_secs(101)).seconds(), -1);
        assert_eq!(time.after(Duration::MAX).micros(), i64::MAX);
        assert_eq!(Timestamp::from_micros(-5).before(Duration::MAX).micros(), i64::MIN);
        assert_eq!(time.since(time.before(Duration::from_secs(7))), Duration::from_secs(7));
        assert_eq!(time.since(time.after(Duration::from_secs(7))), Duration::ZERO);
        assert_eq!(Timestamp::from_micros(-1).seconds(), -1);
    }

    #[test]
    fn age_is_zero_up_to_the_horizon_and_long_ago_beyond() {
        let now = Timestamp::from_seconds(1000).unwrap();
        let age = |micros| now.age_of(Timestamp::from_micros(now.micros() + micros));
        assert_eq!(age(-7 * MICROS), Duration::from_secs(7));
        for ahead in [0, 1, 240 * MICROS, 300 * MICROS] {
            assert_eq!(age(ahead), Duration::ZERO, "{ahead}");
        }
        for ahead in [300 * MICROS + 1, 3600 * MICROS, i64::MAX - now.micros()] {
            assert_eq!(age(ahead), Timestamp::LONG_AGO, "{ahead}");
        }
        // At the maximum, no time lies ahead.
        assert_eq!(Timestamp::from_micros(i64::MAX).age_of(Timestamp::from_micros(i64::MAX)), Duration::ZERO);
    }

    #[test]
    fn parses_spans_with_one_unit() {
        for (text, millis) in [
            ("1ms", 1),
            ("500ms", 500),
            ("1s", 1000),
            ("5m", 300_000),
            ("24h", 86_400_000),
            ("30d", 2_592_000_000),
        ] {
            assert_eq!(text.parse::<Span>().map(Span::get), Ok(Duration::from_millis(millis)));
        }
        let refused = "1 s 0s -1s 1.5s 1S 1w 1h30m 36501d 99999999999999999999d 1sé";
        for text in refused.split(' ').chain(["", "1 s"]) {
            assert_eq!(text.parse::<Span>().unwrap_err().field, "duration", "{text:?}");
        }
        assert!("36500d".parse::<Span>().is_ok());
        assert_eq!(Span::from_seconds(0).to_string(), "1ms");
        assert_eq!(Span::from_seconds(90).to_string(), "90s");
        assert_eq!(Span::from_seconds(86_400).to_string(), "1d");
    }

    proptest! {
        #[test]
        fn spans_round_trip_through_text(millis in 1..=MAX_MILLIS) {
            let span: Span = format!("{millis}ms").parse().unwrap();
            prop_assert_eq!(span.to_string().parse(), Ok(span));
        }
    }
}

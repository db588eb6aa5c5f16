//! Points in time and lengths of time.

use super::Invalid;
use std::{fmt, str::FromStr, time::Duration};

const MICROS: i64 = 1_000_000;

/// How much the clocks of two nodes may differ. A stored time that lies no further ahead was written by such a clock;
/// one that does was written before a clock was set back.
const SKEW: Duration = Duration::from_secs(5 * 60);

/// A point in time: microseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// 1970-01-01 UTC.
    pub const EPOCH: Self = Self(0);
    /// The last second that callers may name: the end of the year 9999.
    pub const MAX_SECONDS: i64 = 253_402_300_799;
    /// The age of what lies too far ahead to say how old it is: 2³¹ seconds, which is what HTTP takes for too long to tell.
    pub const LONG_AGO: Duration = Duration::from_secs(1 << 31);

    /// So many microseconds after the epoch.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// So many seconds after the epoch, for times that callers name.
    pub fn from_seconds(seconds: i64) -> Result<Self, Invalid> {
        if (0..=Self::MAX_SECONDS).contains(&seconds) {
            Ok(Self(seconds * MICROS))
        } else {
            Err(Invalid::new("timestamp", "seconds since 1970, from 0 to 253402300799"))
        }
    }

    /// Microseconds since the epoch.
    #[must_use]
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Whole seconds since the epoch.
    #[must_use]
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(MICROS)
    }

    /// This long after `self`.
    #[must_use]
    pub fn after(self, length: Duration) -> Self {
        Self(self.0.saturating_add(micros_of(length)))
    }

    /// This long before `self`.
    #[must_use]
    pub fn before(self, length: Duration) -> Self {
        Self(self.0.saturating_sub(micros_of(length)))
    }

    /// The latest stored time that counts as now. A later one counts as long ago for what can be had again, and as now
    /// for a session, since no clock signs anyone out.
    #[must_use]
    pub fn horizon(self) -> Self {
        self.after(SKEW)
    }

    /// How old something is that was stored at `stored` and can be had again. Its time counts as now up to the
    /// [`horizon`](Self::horizon), and beyond that as [long ago](Self::LONG_AGO).
    #[must_use]
    pub fn age_of(self, stored: Self) -> Duration {
        if stored > self.horizon() { Self::LONG_AGO } else { self.since(stored) }
    }

    /// How long ago `earlier` was; nothing where it is not earlier.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

fn micros_of(length: Duration) -> i64 {
    i64::try_from(length.as_micros()).unwrap_or(i64::MAX)
}

/// A length of time as people write it, longer than nothing: `500ms`, `1s`, `5m`, `24h`, `30d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(Duration);

/// Units by their length in milliseconds, the longest first.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];
/// A hundred years: longer is a slip of the keyboard, and would overflow points in time.
const LONGEST_MILLIS: u64 = 36_500 * 86_400_000;

impl Span {
    /// A span of so many seconds. Zero becomes the shortest span, a millisecond.
    #[must_use]
    pub const fn from_seconds(seconds: u32) -> Self {
        if seconds == 0 { Self(Duration::from_millis(1)) } else { Self(Duration::from_secs(seconds as u64)) }
    }

    /// As the standard library has it.
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0
    }
}

impl FromStr for Span {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let millis = || {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            let (number, unit) = text.split_at_checked(digits)?;
            let (_, length) = UNITS.iter().find(|(name, _)| *name == unit)?;
            let millis = number.parse::<u64>().ok()?.checked_mul(*length)?;
            (1..=LONGEST_MILLIS).contains(&millis).then_some(millis)
        };
        millis().map(|millis| Self(Duration::from_millis(millis))).ok_or(Invalid::new(
            "duration",
            "a number and a unit (ms, s, m, h, d), like 500ms or 24h, up to 36500d",
        ))
    }
}

impl fmt::Display for Span {
    /// The shortest exact spelling, which parses back to the same span.
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
    fn times_that_callers_name_lie_between_1970_and_9999() {
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
    fn time_moves_by_lengths_and_never_wraps() {
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
    fn a_stored_time_counts_as_now_up_to_five_minutes_ahead_and_then_as_long_ago() {
        let now = Timestamp::from_seconds(1000).unwrap();
        let age = |micros| now.age_of(Timestamp::from_micros(now.micros() + micros));
        assert_eq!(age(-7 * MICROS), Duration::from_secs(7));
        for ahead in [0, 1, 240 * MICROS, 300 * MICROS] {
            assert_eq!(age(ahead), Duration::ZERO, "{ahead}");
        }
        for ahead in [300 * MICROS + 1, 3600 * MICROS, i64::MAX - now.micros()] {
            assert_eq!(age(ahead), Timestamp::LONG_AGO, "{ahead}");
        }
        // At the end of time nothing can lie ahead.
        assert_eq!(Timestamp::from_micros(i64::MAX).age_of(Timestamp::from_micros(i64::MAX)), Duration::ZERO);
    }

    #[test]
    fn spans_are_read_as_people_write_them() {
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
        for text in [
            "",
            "1",
            "s",
            "0s",
            "-1s",
            "1.5s",
            "1 s",
            "1S",
            "1w",
            "1h30m",
            "36501d",
            "99999999999999999999d",
            "1sé",
        ] {
            assert_eq!(text.parse::<Span>().unwrap_err().field, "duration", "{text:?}");
        }
        assert!("36500d".parse::<Span>().is_ok());
        assert_eq!(Span::from_seconds(0).to_string(), "1ms");
        assert_eq!(Span::from_seconds(90).to_string(), "90s");
        assert_eq!(Span::from_seconds(86_400).to_string(), "1d");
    }

    proptest! {
        #[test]
        fn a_span_is_read_back_from_its_text(millis in 1..=LONGEST_MILLIS) {
            let span: Span = format!("{millis}ms").parse().unwrap();
            prop_assert_eq!(span.to_string().parse(), Ok(span));
        }
    }
}

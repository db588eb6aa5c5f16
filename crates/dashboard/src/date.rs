//! Dates, for people and for programs.

use companion_domain::{model::Timestamp, rules::in_words};
use std::time::Duration;
use time::UtcDateTime;

/// A date and its distance from now.
pub(crate) struct Date {
    /// Format of `<time datetime>`.
    pub(crate) machine: String,
    /// Readable form, in UTC.
    pub(crate) human: String,
    /// Distance from now: `3 minutes ago`.
    pub(crate) distance: String,
}

impl Date {
    /// Formats a date relative to `now`.
    pub(crate) fn of(date: Timestamp, now: Timestamp) -> Self {
        // Dates beyond the calendar are shown as its last moment.
        let utc = UtcDateTime::from_unix_timestamp(date.seconds()).unwrap_or(UtcDateTime::MAX);
        let ((year, month, day), (hour, minute, second)) = (utc.to_calendar_date(), utc.as_hms());
        let distance = if date > now {
            format!("in {}", length_in_words(date.since(now)))
        } else if now.since(date) < Duration::from_secs(60) {
            "just now".to_owned()
        } else {
            format!("{} ago", length_in_words(now.since(date)))
        };
        Self {
            machine: format!("{}T{hour:02}:{minute:02}:{second:02}Z", utc.date()),
            human: format!("{day} {month} {year}, {hour:02}:{minute:02} UTC"),
            distance,
        }
    }
}

/// Formats a duration, in months from 60 days and in years from two.
fn length_in_words(length: Duration) -> String {
    let days = length.as_secs() / (24 * 60 * 60);
    match days {
        0..60 => in_words(roughly(length)),
        60..730 => format!("{} months", days / 30),
        _ => format!("{} years", days / 365),
    }
}

/// Drops insignificant units: minutes of hours, and hours of days.
fn roughly(length: Duration) -> Duration {
    const HOUR: u64 = 60 * 60;
    const DAY: u64 = 24 * HOUR;
    let seconds = length.as_secs();
    let grain = match seconds {
        0..HOUR => 1,
        HOUR..DAY => HOUR,
        DAY.. => DAY,
    };
    Duration::from_secs(seconds / grain * grain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds).unwrap()
    }

    #[test]
    fn formats_calendar_dates() {
        for (seconds, machine, human) in [
            (0, "1970-01-01T00:00:00Z", "1 January 1970, 00:00 UTC"),
            (951_782_399, "2000-02-28T23:59:59Z", "28 February 2000, 23:59 UTC"),
            (951_782_400, "2000-02-29T00:00:00Z", "29 February 2000, 00:00 UTC"),
            (1_767_225_599, "2025-12-31T23:59:59Z", "31 December 2025, 23:59 UTC"),
            (4_107_542_400, "2100-03-01T00:00:00Z", "1 March 2100, 00:00 UTC"),
            (Timestamp::MAX_SECONDS, "9999-12-31T23:59:59Z", "31 December 9999, 23:59 UTC"),
        ] {
            let date = Date::of(at(seconds), at(seconds));
            assert_eq!((date.machine.as_str(), date.human.as_str()), (machine, human));
        }
    }

    #[test]
    fn rounds_distances_to_their_largest_unit() {
        let distance = |date, now| Date::of(at(date), at(now)).distance;
        assert_eq!(distance(1000, 1059), "just now");
        assert_eq!(distance(1000, 1121), "2 minutes ago");
        assert_eq!(distance(1000, 1000 + 2 * 3600 + 125), "2 hours ago");
        assert_eq!(distance(1000, 1000 + 3 * 86_400 + 7000), "3 days ago");
        assert_eq!(distance(1000, 1000 + 100 * 86_400), "3 months ago");
        assert_eq!(distance(1000, 1000 + 1097 * 86_400), "3 years ago");
        assert_eq!(distance(1000 + 7 * 86_400, 1000), "in 7 days");
    }
}

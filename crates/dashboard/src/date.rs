//! Dates, for people and for programs.

use companion_domain::{model::Timestamp, rules::in_words};
use std::time::Duration;
use time::UtcDateTime;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

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
            // Rounded to the nearest unit that is shown: what ends in seven days does so a second later, too.
            let seconds = date.since(now).as_secs();
            format!("in {}", length_in_words(Duration::from_secs(seconds + grain(seconds) / 2)))
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

    /// Returns the day as `2026-01-31`.
    pub(crate) fn iso_day(&self) -> &str {
        self.machine.split_once('T').map_or("", |(day, _)| day)
    }

    /// Returns the day as `31 January 2026`.
    pub(crate) fn day(&self) -> &str {
        self.human.split_once(',').map_or("", |(day, _)| day)
    }

    /// Like [`of`](Self::of), but counts seconds: of what is silent, "just now" would say that it is not.
    pub(crate) fn silent_since(date: Timestamp, now: Timestamp) -> Self {
        let length = now.since(date);
        let is_short = length < Duration::from_secs(60);
        let date = Self::of(date, now);
        if is_short { Self { distance: format!("{} ago", in_words(length)), ..date } } else { date }
    }
}

/// Formats a duration in its largest unit: `3 days`, `2 months` from 60 days, and `2 years`.
pub(crate) fn length_in_words(length: Duration) -> String {
    let (seconds, days) = (length.as_secs(), length.as_secs() / DAY);
    match days {
        // Minutes of hours are insignificant, and hours of days.
        0..60 => in_words(Duration::from_secs(seconds - seconds % grain(seconds))),
        60..730 => format!("{} months", days / 30),
        _ => format!("{} years", days / 365),
    }
}

/// Returns the smallest unit that is shown of a duration, in seconds.
const fn grain(seconds: u64) -> u64 {
    match seconds {
        0..MINUTE => 1,
        MINUTE..HOUR => MINUTE,
        HOUR..DAY => HOUR,
        DAY.. => DAY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_testkit::world::at;

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
    fn rounds_the_past_down_and_the_future_to_the_nearest_unit() {
        for (length, expected) in [
            (59, "just now"),
            (121, "2 minutes ago"),
            (2 * 3600 + 125, "2 hours ago"),
            (3 * 86_400 + 7000, "3 days ago"),
            (100 * 86_400, "3 months ago"),
            (1097 * 86_400, "3 years ago"),
            (1 - 7 * 86_400, "in 7 days"),
            (13 * 3600 - 7 * 86_400, "in 6 days"),
            (60 - 86_400, "in 1 day"),
            (1 - 3600, "in 1 hour"),
            (-2 * 3600 - 125, "in 2 hours"),
            (-59, "in 59 seconds"),
        ] {
            assert_eq!(Date::of(at(1_000_000), at(1_000_000 + length)).distance, expected);
        }
        let silent = |length: i64| Date::silent_since(at(1000), at(1000 + length)).distance;
        assert_eq!((silent(12).as_str(), silent(125).as_str()), ("12 seconds ago", "2 minutes ago"));
    }
}

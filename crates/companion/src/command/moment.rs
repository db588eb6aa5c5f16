//! Times as people read them.

use companion_domain::model::Timestamp;
use time::OffsetDateTime;

/// A time of the calendar, in UTC and to the second: `2026-01-31 12:00:00`.
pub(super) fn utc(time: Timestamp) -> String {
    match OffsetDateTime::from_unix_timestamp(time.seconds()) {
        Ok(date) => {
            let (year, month, day) = date.to_calendar_date();
            let (hour, minute, second) = date.to_hms();
            format!("{year:04}-{:02}-{day:02} {hour:02}:{minute:02}:{second:02}", u8::from(month))
        }
        // Beyond the calendar; as good a number as any.
        Err(_) => time.seconds().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_in_utc_to_the_second() {
        assert_eq!(utc(Timestamp::from_seconds(1_769_860_799).unwrap()), "2026-01-31 11:59:59");
        assert_eq!(utc(Timestamp::EPOCH), "1970-01-01 00:00:00");
    }
}

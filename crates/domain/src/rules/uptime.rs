//! Lengths of time in words.

use std::{ops::Range, time::Duration};

/// A length of time as a person would say it: `3 days, 4 hours and 12 minutes`. Seconds count only below a minute.
#[must_use]
pub fn in_words(length: Duration) -> String {
    let seconds = length.as_secs();
    let units = [("day", seconds / 86_400), ("hour", seconds / 3600 % 24), ("minute", seconds / 60 % 60)];
    let parts: Vec<_> =
        units.iter().filter(|(_, count)| *count > 0).map(|(unit, count)| counted(*count, unit)).collect();
    match parts.split_last() {
        None => counted(seconds, "second"),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// The lengths of time that read like this one.
pub(super) fn alike(length: Duration) -> Range<Duration> {
    let seconds = length.as_secs();
    let grain = if seconds < 60 { 1 } else { 60 };
    let begin = seconds / grain * grain;
    Duration::from_secs(begin)..Duration::from_secs(begin.saturating_add(grain))
}

fn counted(count: u64, unit: &str) -> String {
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lengths_read_alike_from_one_end_to_the_other_and_not_beyond(millis in 0..=400_000_000_u64) {
            let length = Duration::from_millis(millis);
            let Range { start, end } = alike(length);
            prop_assert!((start..end).contains(&length));
            let (words, nanosecond) = (in_words(length), Duration::from_nanos(1));
            prop_assert_eq!(&in_words(start), &words);
            prop_assert_eq!(&in_words(end - nanosecond), &words);
            prop_assert_ne!(&in_words(end), &words);
            prop_assert!(start.is_zero() || in_words(start - nanosecond) != words);
        }
    }

    #[test]
    fn lengths_read_as_a_person_would_say_them() {
        for (seconds, words) in [
            (0, "0 seconds"),
            (1, "1 second"),
            (59, "59 seconds"),
            (60, "1 minute"),
            (61, "1 minute"),
            (3_599, "59 minutes"),
            (3_600, "1 hour"),
            (3_660, "1 hour and 1 minute"),
            (86_400, "1 day"),
            (90_000, "1 day and 1 hour"),
            (86_520, "1 day and 2 minutes"),
            (274_320, "3 days, 4 hours and 12 minutes"),
        ] {
            assert_eq!(in_words(Duration::from_secs(seconds)), words);
        }
    }
}

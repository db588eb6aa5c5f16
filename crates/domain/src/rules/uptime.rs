//! Lengths of time in words.

use std::time::Duration;

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

fn counted(count: u64, unit: &str) -> String {
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

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

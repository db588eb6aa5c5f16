//! How things are put.

use std::{error::Error, time::Duration};

/// A message of the program, taken apart where it names a remedy: "… \n    fix: …".
pub(super) fn with_fix(message: &str) -> (String, Option<String>) {
    match message.split_once("\n    fix: ") {
        Some((cause, fix)) => (one_line(cause), Some(one_line(fix))),
        None => (one_line(message), None),
    }
}

/// The same on one line.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The deepest cause of an error: what the system says, without what everyone on the way has to say about it.
pub(super) fn root(error: &dyn Error) -> String {
    let causes = std::iter::successors(Some(error), |&cause| cause.source());
    causes.last().map(ToString::to_string).unwrap_or_default()
}

/// A length of time, as people say it.
pub(super) fn length(length: Duration) -> String {
    let seconds = length.as_secs();
    match seconds {
        0 => format!("{} ms", length.as_millis()),
        1..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_told_in_the_unit_that_fits() {
        for (millis, words) in [
            (3, "3 ms"),
            (1500, "1 s"),
            (119_000, "119 s"),
            (120_000, "2 min"),
            (7_199_000, "119 min"),
            (7_200_000, "2 h"),
            (200_000_000, "2 days"),
        ] {
            assert_eq!(length(Duration::from_millis(millis)), words);
        }
    }

    #[test]
    fn a_message_with_a_remedy_is_taken_apart() {
        let (cause, fix) = with_fix("storage.url: it is gone,\n  quite\n    fix: restore it");
        assert_eq!((cause.as_str(), fix.as_deref()), ("storage.url: it is gone, quite", Some("restore it")));
        assert_eq!(with_fix("gone").1, None);
    }
}

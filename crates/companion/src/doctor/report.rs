//! The report of all checks, as text and as JSON.

use super::check::{Check, Status};
use serde_json::{Value, json};
use std::{error::Error, fmt, time::Duration};

/// The results of all checks, dependencies first.
#[derive(Debug)]
pub struct Report {
    /// The checks.
    pub checks: Vec<Check>,
}

impl Report {
    /// Returns the worst outcome.
    #[must_use]
    pub fn status(&self) -> Status {
        self.checks.iter().map(|check| check.status).max().unwrap_or(Status::Ok).max(Status::Ok)
    }

    /// Returns the report as a JSON document.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({"status": self.status(), "checks": self.checks})
    }

    fn count(&self, status: Status) -> usize {
        self.checks.iter().filter(|check| check.status == status).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Check { name, key, status, cause, remedy } in &self.checks {
            writeln!(f, "{:8} {name:20} {key}: {cause}", status.as_str())?;
            if let Some(remedy) = remedy {
                writeln!(f, "{:8} fix: {remedy}", "")?;
            }
        }
        let (ok, skipped) = (self.count(Status::Ok), self.count(Status::Skipped));
        let (warnings, failed) = (self.count(Status::Warning), self.count(Status::Failed));
        let plural = if warnings == 1 { "" } else { "s" };
        writeln!(f, "\n{ok} ok, {warnings} warning{plural}, {failed} failed, {skipped} skipped")
    }
}

/// Splits a message of the program into problem and fix, if it has a line that begins with "fix: ".
pub(super) fn with_fix(message: &str) -> (String, Option<String>) {
    match message.split_once("\n    fix: ") {
        Some((cause, fix)) => (one_line(cause), Some(one_line(fix))),
        None => (one_line(message), None),
    }
}

/// Collapses whitespace into single spaces.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the root cause of an error, without the context that callers added.
pub(super) fn root(error: &dyn Error) -> String {
    let causes = std::iter::successors(Some(error), |&cause| cause.source());
    causes.last().map(ToString::to_string).unwrap_or_default()
}

/// Formats a duration in a readable unit.
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
    use super::{super::check::Subject, *};

    #[test]
    fn the_worst_check_decides_and_skipped_ones_do_not() {
        let subject = Subject::new("disk", "storage.url");
        let report = |checks: Vec<Check>| Report { checks }.status();
        assert_eq!(report(vec![]), Status::Ok);
        assert_eq!(report(vec![subject.skipped("no")]), Status::Ok);
        assert_eq!(report(vec![subject.warning("slow", "x"), subject.ok("fine")]), Status::Warning);
        assert_eq!(report(vec![subject.failed("full", "x"), subject.warning("slow", "x")]), Status::Failed);
    }

    #[test]
    fn formats_durations_in_a_fitting_unit() {
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
    fn splits_a_message_into_problem_and_fix() {
        let (cause, fix) = with_fix("storage.url: it is gone,\n  quite\n    fix: restore it");
        assert_eq!((cause.as_str(), fix.as_deref()), ("storage.url: it is gone, quite", Some("restore it")));
        assert_eq!(with_fix("gone").1, None);
    }
}

//! All checks together, for people and for scripts.

use super::check::{Check, Status};
use serde_json::{Value, json};
use std::fmt;

/// What was found, in the order in which parts need each other.
#[derive(Debug)]
pub struct Report {
    /// A line for each part.
    pub checks: Vec<Check>,
}

impl Report {
    /// The worst that was found.
    #[must_use]
    pub fn status(&self) -> Status {
        self.checks.iter().map(|check| check.status).max().unwrap_or(Status::Ok).max(Status::Ok)
    }

    /// The report as one JSON document.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let check = |check: &Check| {
            json!({
                "name": check.name, "key": check.key, "status": check.status.as_str(), "cause": check.cause,
                "remedy": check.remedy,
            })
        };
        let checks: Vec<_> = self.checks.iter().map(check).collect();
        json!({"status": self.status().as_str(), "checks": checks})
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

#[cfg(test)]
mod tests {
    use super::{super::check::Subject, *};

    #[test]
    fn the_worst_line_decides_and_what_was_skipped_does_not() {
        let subject = Subject::new("disk", "storage.url");
        let report = |checks: Vec<Check>| Report { checks }.status();
        assert_eq!(report(vec![]), Status::Ok);
        assert_eq!(report(vec![subject.skipped("no")]), Status::Ok);
        assert_eq!(report(vec![subject.warning("slow", "x"), subject.ok("fine")]), Status::Warning);
        assert_eq!(report(vec![subject.failed("full", "x"), subject.warning("slow", "x")]), Status::Failed);
    }
}

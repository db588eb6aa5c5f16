//! The result of a check, and the installation under examination.

use crate::configuration::{Configuration, Effective, KeyError, Source};
use serde::Serialize;

/// The outcome of a check, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It was not checked.
    Skipped,
    /// No problem was found.
    Ok,
    /// It works, but the operator should look at it.
    Warning,
    /// It does not work.
    Failed,
}

impl Status {
    /// Returns the word in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
        }
    }
}

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was checked. Scripts may rely on it.
    pub name: &'static str,
    /// The configuration key that controls it.
    pub key: String,
    /// The outcome.
    pub status: Status,
    /// What was found.
    pub cause: String,
    /// How to fix it, if there is anything to fix.
    pub remedy: Option<String>,
}

/// What is checked, and the configuration key that controls it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject {
    pub(super) name: &'static str,
    pub(super) key: &'static str,
}

impl Subject {
    pub(super) const fn new(name: &'static str, key: &'static str) -> Self {
        Self { name, key }
    }

    pub(super) fn ok(self, cause: impl Into<String>) -> Check {
        self.check(Status::Ok, cause.into(), None)
    }

    pub(super) fn skipped(self, cause: impl Into<String>) -> Check {
        self.check(Status::Skipped, cause.into(), None)
    }

    pub(super) fn warning(self, cause: impl Into<String>, remedy: impl Into<String>) -> Check {
        self.check(Status::Warning, cause.into(), Some(remedy.into()))
    }

    pub(super) fn failed(self, cause: impl Into<String>, remedy: impl Into<String>) -> Check {
        self.check(Status::Failed, cause.into(), Some(remedy.into()))
    }

    fn check(self, status: Status, cause: String, remedy: Option<String>) -> Check {
        Check { name: self.name, key: self.key.to_owned(), status, cause, remedy }
    }
}

/// The installation under examination: its configuration, with defaults in place of invalid values.
pub(super) struct Installation {
    pub(super) configuration: Configuration,
    pub(super) effective: Vec<Effective>,
    pub(super) warnings: Vec<KeyError>,
    pub(super) errors: Vec<KeyError>,
}

impl Installation {
    /// Returns `Err` with a skipped check unless all these keys have their intended values.
    pub(super) fn needs(&self, subject: Subject, keys: &[&str]) -> Result<(), Check> {
        match keys.iter().find(|key| !self.is_intended(key)) {
            Some(key) => Err(subject.skipped(format!("cannot be told before {key} is right"))),
            None => Ok(()),
        }
    }

    /// Whether the effective value is the one that the operator chose. If a value is invalid or the file is unreadable,
    /// the default replaces it, and checking the default would say nothing about this installation.
    fn is_intended(&self, key: &str) -> bool {
        let wrong = |error: &KeyError| error.key == key && error.source != Source::Together;
        let is_default =
            self.effective.iter().any(|known| known.key.path == key && known.source == Source::Default);
        let unreadable = |error: &KeyError| error.is_of_file();
        !(self.errors.iter().any(wrong) || is_default && self.errors.iter().any(unreadable))
    }
}

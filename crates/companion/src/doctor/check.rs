//! What is said of one part of an installation, and what has to be known for it.

use crate::configuration::{Configuration, Effective, Mistake, Source};

/// How a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// It was not looked at.
    Skipped,
    /// It is well.
    Ok,
    /// It works, and yet someone should look at it.
    Warning,
    /// It does not work.
    Failed,
}

impl Status {
    /// The word for it.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What was looked at. Scripts may rely on it.
    pub name: &'static str,
    /// The key of the configuration that decides about it.
    pub key: String,
    /// How it is.
    pub status: Status,
    /// What was found.
    pub cause: String,
    /// What to do about it, where there is something to do.
    pub remedy: Option<String>,
}

/// What is looked at, and the key that decides about it.
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

/// What is known of an installation before anything is looked at: its configuration, as far as that can be followed.
pub(super) struct Installation {
    pub(super) configuration: Configuration,
    pub(super) effective: Vec<Effective>,
    pub(super) mistakes: Vec<Mistake>,
}

impl Installation {
    /// Goes on only where each of these keys has the value that was meant; otherwise the subject is skipped.
    pub(super) fn needs(&self, subject: Subject, keys: &[&str]) -> Result<(), Check> {
        match keys.iter().find(|key| !self.is_meant(key)) {
            Some(key) => Err(subject.skipped(format!("cannot be told before {key} is right"))),
            None => Ok(()),
        }
    }

    /// Whether the value that a key has is the one that somebody chose. Where a value is wrong, or the file cannot be read,
    /// the default stands in, and what it leads to says nothing about this installation.
    fn is_meant(&self, key: &str) -> bool {
        let wrong = |mistake: &Mistake| mistake.key == key && mistake.source != Source::Together;
        let is_default =
            self.effective.iter().any(|known| known.key.path == key && known.source == Source::Default);
        !(self.mistakes.iter().any(wrong) || is_default && self.has_unreadable_file())
    }

    fn has_unreadable_file(&self) -> bool {
        let unreadable = |mistake: &Mistake| {
            matches!(mistake.source, Source::File(_) | Source::Line(..)) && mistake.key.contains(' ')
        };
        self.mistakes.iter().any(unreadable)
    }
}

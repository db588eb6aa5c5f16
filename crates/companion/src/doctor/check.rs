//! What is said of one part of an installation.

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

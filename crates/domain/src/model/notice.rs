//! Notices: planned maintenance, incidents and news.

use super::{Headline, Invalid, NoticeId, NoticeText, Timestamp};
use std::str::FromStr;

/// A notice that the bot or the operator publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Chosen by the publisher.
    pub id: NoticeId,
    /// What it is about.
    pub kind: NoticeKind,
    /// What is shown first.
    pub title: Headline,
    /// The text below.
    pub text: NoticeText,
    /// From when it counts.
    pub from: Timestamp,
    /// Until when it counts. `None` if it is open.
    pub until: Option<Timestamp>,
}

impl Notice {
    /// Maximum number of open notices.
    pub const MAX_OPEN: usize = 50;

    /// Checks that it does not end before it begins.
    pub fn check(&self) -> Result<(), Invalid> {
        match self.until {
            Some(until) if until < self.from => Err(Invalid::new("until", "null, or no earlier than from")),
            _ => Ok(()),
        }
    }

    /// Returns whether it has no end yet.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.until.is_none()
    }

    /// Returns whether it is over.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

/// The kinds of notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoticeKind {
    /// Something is broken.
    Incident,
    /// Planned work.
    Maintenance,
    /// Anything else.
    News,
}

impl NoticeKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Maintenance, Self::Incident, Self::News];

    /// Returns the name of the kind.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Incident => "incident",
            Self::Maintenance => "maintenance",
            Self::News => "news",
        }
    }
}

impl std::fmt::Display for NoticeKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for NoticeKind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let named = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        named.ok_or(Invalid::new("kind", "maintenance, incident or news"))
    }
}

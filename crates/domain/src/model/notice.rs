//! Notices: planned maintenance, incidents and news.

use super::{Headline, Invalid, NoticeId, NoticeText, Timestamp};
use crate::named::named;

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

named! {
    /// The kinds of notices.
    NoticeKind {
        /// Something is broken.
        Incident = "incident",
        /// Planned work.
        Maintenance = "maintenance",
        /// Anything else.
        News = "news",
    }
    parsed as "kind": "maintenance, incident or news"
}

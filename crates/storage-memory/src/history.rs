//! The history of changes.

use companion_domain::change::{Change, Changes, Journal, Revision};
use std::collections::VecDeque;

/// The most recent changes, gap-free up to `latest`.
#[derive(Default)]
pub(crate) struct History {
    changes: VecDeque<Change>,
    latest: Revision,
}

impl History {
    /// Assigns revisions to the changes, and returns them. Drops the oldest if there are more than `kept`.
    pub(crate) fn append(&mut self, journal: Journal, kept: usize) -> Vec<Change> {
        let revisions = (self.latest.0 + 1..).map(Revision);
        let changes: Vec<_> = revisions
            .zip(journal.into_subjects())
            .map(|(revision, subject)| Change { revision, subject })
            .collect();
        if let Some(last) = changes.last() {
            self.latest = last.revision;
        }
        self.changes.extend(changes.iter().cloned());
        let excess = self.changes.len().saturating_sub(kept);
        self.changes.drain(..excess);
        changes
    }

    pub(crate) const fn latest(&self) -> Revision {
        self.latest
    }

    pub(crate) fn since(&self, revision: Revision) -> Changes {
        // Revisions are gap-free, so the distance to the newest is the number of requested changes.
        let wanted =
            self.latest.0.checked_sub(revision.0).and_then(|distance| usize::try_from(distance).ok());
        match wanted.and_then(|wanted| self.changes.len().checked_sub(wanted)) {
            Some(skipped) => Changes::Listed(self.changes.range(skipped..).cloned().collect()),
            None => Changes::Gap(self.latest),
        }
    }
}

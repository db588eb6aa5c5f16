//! The newest changes, for all who want to hear of them.

use crate::change::{Change, Revision};
use std::collections::VecDeque;

/// So many are remembered. Whoever is further behind asks the feed.
const REMEMBERED: usize = 4096;

/// Every change after a revision.
#[derive(Default)]
pub(super) struct RecentChanges {
    /// Nothing before any change was noted.
    after: Option<Revision>,
    changes: VecDeque<Change>,
}

impl RecentChanges {
    /// Notes all changes that came after this revision.
    pub(super) fn note(&mut self, after: Revision, changes: &[Change]) {
        if self.newest() != Some(after) {
            // Someone has fallen behind and is told again what is known, or there is a gap.
            if self.newest().is_some_and(|newest| after < newest) {
                return;
            }
            self.forget();
            self.after = Some(after);
        }
        self.changes.extend(changes.iter().cloned());
        let surplus = self.changes.len().saturating_sub(REMEMBERED);
        if let Some(last) = self.changes.drain(..surplus).next_back() {
            self.after = Some(last.revision);
        }
    }

    /// What comes next has nothing to do with what is remembered.
    pub(super) fn forget(&mut self) {
        (self.after, self.changes) = (None, VecDeque::new());
    }

    /// The changes after one revision up to another, where they are remembered.
    pub(super) fn between(&self, after: Revision, until: Revision) -> Option<Vec<Change>> {
        // Whoever claims to know more than this may have it from elsewhere.
        if self.after? > after || self.newest()? < after.max(until) {
            return None;
        }
        let first = self.changes.partition_point(|change| change.revision <= after);
        let these = self.changes.iter().skip(first).take_while(|change| change.revision <= until);
        Some(these.cloned().collect())
    }

    fn newest(&self) -> Option<Revision> {
        self.changes.back().map(|change| change.revision).or(self.after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::{Kind, Subject};

    fn changes(revisions: impl IntoIterator<Item = u64>) -> Vec<Change> {
        revisions
            .into_iter()
            .map(|number| Change { revision: Revision(number), subject: Subject::Many(Kind::Team) })
            .collect()
    }

    fn between(recent: &RecentChanges, after: u64, until: u64) -> Option<Vec<u64>> {
        let found = recent.between(Revision(after), Revision(until))?;
        Some(found.iter().map(|change| change.revision.0).collect())
    }

    #[test]
    fn everything_after_the_first_revision_is_known() {
        let mut recent = RecentChanges::default();
        assert_eq!(between(&recent, 0, 0), None);
        recent.note(Revision(7), &changes([8, 10]));
        recent.note(Revision(10), &changes([11]));
        assert_eq!(between(&recent, 7, 11), Some(vec![8, 10, 11]));
        assert_eq!(between(&recent, 8, 10), Some(vec![10]));
        assert_eq!(between(&recent, 11, 11), Some(vec![]));
        assert_eq!(between(&recent, 6, 11), None, "something may have come between");
        assert_eq!(between(&recent, 7, 12), None, "it is not noted yet");
        assert_eq!(between(&recent, 12, 11), None, "that is no revision that came from here");
    }

    #[test]
    fn what_is_told_again_is_noted_once_and_a_gap_begins_anew() {
        let mut recent = RecentChanges::default();
        recent.note(Revision(7), &changes([8]));
        recent.note(Revision(8), &changes([9]));
        recent.note(Revision(7), &changes([8, 9]));
        assert_eq!(between(&recent, 7, 9), Some(vec![8, 9]));
        recent.note(Revision(20), &changes([21]));
        assert_eq!((between(&recent, 20, 21), between(&recent, 9, 21)), (Some(vec![21]), None));
        recent.forget();
        assert_eq!(between(&recent, 20, 21), None);
    }

    #[test]
    fn the_oldest_go_first() {
        let mut recent = RecentChanges::default();
        let many = REMEMBERED as u64 + 3;
        recent.note(Revision(0), &changes(1..=many));
        assert_eq!(between(&recent, 2, many), None);
        assert_eq!(between(&recent, 3, many).unwrap().len(), REMEMBERED);
    }
}

//! Feedback.

use crate::{
    journal::Index,
    keyed::{Table, removal_tally},
};
use companion_domain::{
    change::{Subject, Tally},
    model::{Feedback, FeedbackId, UserId},
    rules::Seed,
};
use std::{collections::BTreeMap, ops::Bound, sync::Arc};

/// Feedback by id and by submitter. Positive entries are numbered from 0 without gaps, so that a random pick costs the
/// same however many there are.
#[derive(Default)]
pub(crate) struct FeedbackEntries {
    by_id: BTreeMap<FeedbackId, Entry>,
    positive: Vec<Arc<Feedback>>,
    of_submitter: Index<UserId, FeedbackId>,
}

struct Entry {
    feedback: Arc<Feedback>,
    /// Its number among the positive entries.
    index: Option<usize>,
}

impl FeedbackEntries {
    pub(crate) fn find(&self, id: &FeedbackId) -> Option<Arc<Feedback>> {
        self.by_id.get(id).map(|entry| Arc::clone(&entry.feedback))
    }

    pub(crate) fn of_submitter(&self, user: UserId) -> impl Iterator<Item = &FeedbackId> {
        self.of_submitter.of(&user)
    }

    fn add(&mut self, feedback: Arc<Feedback>) {
        let index = feedback.rating.is_positive().then(|| {
            self.positive.push(Arc::clone(&feedback));
            self.positive.len() - 1
        });
        self.of_submitter.insert(feedback.submitter.id, feedback.id.clone());
        self.by_id.insert(feedback.id.clone(), Entry { feedback, index });
    }

    fn take(&mut self, id: &FeedbackId) -> Option<Arc<Feedback>> {
        let Entry { feedback, index } = self.by_id.remove(id)?;
        if let Some(index) = index {
            // The last entry moves into the gap.
            self.positive.swap_remove(index);
            if let Some(moved) = self.positive.get(index).and_then(|moved| self.by_id.get_mut(&moved.id)) {
                moved.index = Some(index);
            }
        }
        self.of_submitter.remove(&feedback.submitter.id, id);
        Some(feedback)
    }

    /// Returns positive entries, ordered by id.
    pub(crate) fn positive_after(&self, after: Option<&FeedbackId>) -> impl Iterator<Item = &Arc<Feedback>> {
        let begin = after.map_or(Bound::Unbounded, Bound::Excluded);
        let entries = self.by_id.range((begin, Bound::Unbounded)).map(|(_, entry)| entry);
        entries.filter(|entry| entry.index.is_some()).map(|entry| &entry.feedback)
    }

    pub(crate) fn pick_positive(&self, count: usize, seed: Seed) -> Vec<Arc<Feedback>> {
        let positions = seed.draw().positions(self.positive.len(), count).into_iter();
        positions.filter_map(|position| self.positive.get(position)).cloned().collect()
    }
}

impl Table for FeedbackEntries {
    type Key = FeedbackId;
    type Row = Arc<Feedback>;

    fn keys(&self) -> Vec<FeedbackId> {
        self.by_id.keys().cloned().collect()
    }

    fn set(&mut self, key: FeedbackId, row: Arc<Feedback>) -> Tally {
        if self.by_id.get(&key).is_some_and(|entry| entry.feedback == row) {
            return Tally::NOTHING;
        }
        let earlier = self.take(&key);
        self.add(row);
        if earlier.is_some() { Tally::CHANGED } else { Tally::ADDED }
    }

    fn unset(&mut self, key: &FeedbackId) -> Tally {
        removal_tally(self.take(key))
    }

    fn subject(&self, key: &FeedbackId) -> Subject {
        Subject::Feedback(key.clone())
    }
}

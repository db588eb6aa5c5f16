//! Feedback.

use crate::{
    state::MemoryStorage,
    table::{Table, gone},
};
use async_trait::async_trait;
use companion_domain::{
    change::{Subject, Tally},
    model::{Feedback, FeedbackId, UserId},
    port::{Entropy, FeedbackStore, StoreError},
    rules::distinct_positions,
};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// Feedback by its id and by who wrote it, and the positive entries numbered from 0 without holes, so that picking
/// some costs the same however many there are.
#[derive(Default)]
pub(crate) struct FeedbackEntries {
    by_id: HashMap<FeedbackId, Entry>,
    positive: Vec<Arc<Feedback>>,
    of_submitter: HashMap<UserId, HashSet<FeedbackId>>,
}

struct Entry {
    feedback: Arc<Feedback>,
    /// Its number among the positive ones.
    place: Option<usize>,
}

impl FeedbackEntries {
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Feedback>> {
        self.by_id.values().map(|entry| &entry.feedback)
    }

    pub(crate) fn of_submitter(&self, user: UserId) -> impl Iterator<Item = &FeedbackId> {
        self.of_submitter.get(&user).into_iter().flatten()
    }

    fn add(&mut self, feedback: Arc<Feedback>) {
        let place = feedback.rating.is_positive().then(|| {
            self.positive.push(Arc::clone(&feedback));
            self.positive.len() - 1
        });
        self.of_submitter.entry(feedback.submitter.id).or_default().insert(feedback.id.clone());
        self.by_id.insert(feedback.id.clone(), Entry { feedback, place });
    }

    fn take(&mut self, id: &FeedbackId) -> Option<Arc<Feedback>> {
        let Entry { feedback, place } = self.by_id.remove(id)?;
        if let Some(place) = place {
            // The last one moves into the gap.
            self.positive.swap_remove(place);
            if let Some(moved) = self.positive.get(place).and_then(|moved| self.by_id.get_mut(&moved.id)) {
                moved.place = Some(place);
            }
        }
        let submitter = feedback.submitter.id;
        if let Some(ids) = self.of_submitter.get_mut(&submitter) {
            ids.remove(id);
            if ids.is_empty() {
                self.of_submitter.remove(&submitter);
            }
        }
        Some(feedback)
    }

    fn pick_positive(&self, count: u64, entropy: &dyn Entropy) -> Vec<Arc<Feedback>> {
        let positions = distinct_positions(self.positive.len() as u64, count, entropy).into_iter();
        positions.filter_map(|position| self.positive.get(usize::try_from(position).ok()?)).cloned().collect()
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
        gone(self.take(key))
    }

    fn subject(key: &FeedbackId) -> Subject {
        Subject::Feedback(key.clone())
    }
}

#[async_trait]
impl FeedbackStore for MemoryStorage {
    async fn pick_positive(
        &self,
        count: u64,
        entropy: &dyn Entropy,
    ) -> Result<Vec<Arc<Feedback>>, StoreError> {
        Ok(self.read().feedback.pick_positive(count, entropy))
    }

    async fn find(&self, id: &FeedbackId) -> Result<Option<Arc<Feedback>>, StoreError> {
        Ok(self.read().feedback.by_id.get(id).map(|entry| Arc::clone(&entry.feedback)))
    }

    async fn put(&self, feedback: &Feedback) -> Result<Tally, StoreError> {
        let (id, row) = (feedback.id.clone(), Arc::new(feedback.clone()));
        Ok(self.write(|state, journal| state.feedback.put(id, row, journal)))
    }

    async fn remove(&self, id: &FeedbackId) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.feedback.remove(id, journal)))
    }
}

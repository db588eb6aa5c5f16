//! Wrong feedback stores.

use crate::proof::{Proof, Workshop, memory};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{Feedback, FeedbackId},
    port::{Entropy, FeedbackStore, StoreError},
    rules::Seed,
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::{
    conformance::{Fresh, feedback_store::SUITE},
    entropy::SeededEntropy,
};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

#[derive(Clone, Copy)]
enum Fault {
    Biased,
    Sorted,
    Repeats,
    ThreeStars,
    OwnChance,
    Holes,
    RatingStays,
    IdsIgnoreCase,
    EmptyTextIsLost,
    RemoveOnAbsentFails,
}

pub(crate) fn proofs() -> Vec<Proof> {
    use Fault as F;
    let workshop = Workshop {
        suite: "feedback_store",
        behaviours: SUITE,
        sound: || Fresh::new(memory()),
        wrong: |fault| {
            let chance = SeededEntropy::new(99);
            Fresh::new(Arc::new(Wrong {
                inner: memory(),
                fault,
                chance,
                three_stars: Mutex::default(),
                hidden: Mutex::default(),
            }))
        },
    };
    let likely = "every_choice_and_every_order_is_equally_likely";
    workshop.proofs(&[
        (F::Biased, "one entry is picked a fifth too often (a biased pick)", likely),
        (F::Sorted, "a pick comes in a fixed order", likely),
        (F::Repeats, "an entry is picked twice", "a_pick_has_as_many_distinct_entries_as_asked_for"),
        (F::ThreeStars, "three stars are picked", "only_four_and_five_stars_are_picked"),
        (F::OwnChance, "the adapter rolls its own dice", "a_pick_depends_on_the_given_chance_alone"),
        (F::Holes, "removed entries leave holes", "what_is_picked_stays_right_whoever_writes_at_once"),
        (
            F::RatingStays,
            "a changed rating is not kept",
            "a_change_of_rating_moves_an_entry_in_and_out_of_the_pick",
        ),
        (F::IdsIgnoreCase, "ids differ in letters only", "ids_are_kept_apart_to_the_letter"),
        (F::EmptyTextIsLost, "a rating without words is not found", "an_entry_is_found_as_it_was_put"),
        (
            F::RemoveOnAbsentFails,
            "removing what is gone is an error",
            "removing_can_be_repeated_and_counts_once",
        ),
    ])
}

struct Wrong {
    inner: Arc<MemoryStorage>,
    fault: Fault,
    chance: SeededEntropy,
    three_stars: Mutex<Vec<Arc<Feedback>>>,
    hidden: Mutex<HashSet<FeedbackId>>,
}

impl Wrong {
    fn three_stars(&self) -> MutexGuard<'_, Vec<Arc<Feedback>>> {
        self.three_stars.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hidden(&self) -> MutexGuard<'_, HashSet<FeedbackId>> {
        self.hidden.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn id(&self, id: &FeedbackId) -> FeedbackId {
        match self.fault {
            Fault::IdsIgnoreCase => id.as_str().to_lowercase().parse().unwrap_or_else(|_| id.clone()),
            _ => id.clone(),
        }
    }
}

#[async_trait]
impl FeedbackStore for Wrong {
    async fn pick_positive(&self, count: usize, seed: Seed) -> Result<Vec<Arc<Feedback>>, StoreError> {
        let mut picked = match self.fault {
            Fault::OwnChance => self.inner.pick_positive(count, self.chance.seed()).await?,
            Fault::Repeats => {
                let mut picked = Vec::new();
                for _ in 0..count.min(100) {
                    picked.extend(self.inner.pick_positive(1, seed).await?);
                }
                picked
            }
            _ => self.inner.pick_positive(count, seed).await?,
        };
        match self.fault {
            // One in three of the picks that lack the favourite is drawn again, so it comes up a fifth too often.
            Fault::Biased if !picked.iter().any(|entry| entry.id.as_str() == "e") => {
                let mut die = [0];
                self.chance.fill(&mut die);
                if die < [85] {
                    picked = self.inner.pick_positive(count, self.chance.seed()).await?;
                }
            }
            Fault::Sorted => picked.sort_by(|one, two| one.id.cmp(&two.id)),
            Fault::ThreeStars => picked.extend(self.three_stars().iter().cloned()),
            Fault::Holes => picked.retain(|entry| !self.hidden().contains(&entry.id)),
            _ => {}
        }
        Ok(picked)
    }

    async fn find(&self, id: &FeedbackId) -> Result<Option<Arc<Feedback>>, StoreError> {
        let found = FeedbackStore::find(&*self.inner, &self.id(id)).await?;
        Ok(match self.fault {
            Fault::EmptyTextIsLost => found.filter(|entry| !entry.text.as_str().is_empty()),
            _ => found,
        })
    }

    async fn put(&self, feedback: &Feedback) -> Result<Tally, StoreError> {
        let mut feedback = Feedback { id: self.id(&feedback.id), ..feedback.clone() };
        if feedback.rating.stars() == 3 {
            self.three_stars().push(Arc::new(feedback.clone()));
        }
        self.hidden().remove(&feedback.id);
        if let Fault::RatingStays = self.fault
            && let Some(earlier) = FeedbackStore::find(&*self.inner, &feedback.id).await?
        {
            feedback.rating = earlier.rating;
        }
        FeedbackStore::put(&*self.inner, &feedback).await
    }

    async fn remove(&self, id: &FeedbackId) -> Result<Tally, StoreError> {
        if let Fault::Holes = self.fault {
            return Ok(if self.hidden().insert(id.clone()) { Tally::REMOVED } else { Tally::NOTHING });
        }
        match (self.fault, FeedbackStore::remove(&*self.inner, &self.id(id)).await?) {
            (Fault::RemoveOnAbsentFails, Tally::NOTHING) => {
                Err(StoreError::conflict("there is no such entry"))
            }
            (_, tally) => Ok(tally),
        }
    }
}

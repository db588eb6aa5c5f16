//! Wrong feedback stores.

use crate::conformance::proof::{a_turn, faults, locked, stores, with};
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Key, Tally},
    model::{Feedback, FeedbackId},
    port::{ApplyError, Entropy, FeedbackStore, Mutation, Record, Records, StoreError, Stores},
    rules::Seed,
};
use companion_testkit::{
    conformance::Fresh,
    entropy::SeededEntropy,
    over::{FeedbackStoreOver, Over, RecordsOver},
};
use std::{
    collections::HashSet,
    num::NonZeroU32,
    sync::{Arc, Mutex, MutexGuard},
};

faults! {
    enum Fault {}
    feedback_store(Fresh::new(Arc::new(stores())), wrong) {
        every_choice_and_every_order_is_equally_likely:
            Biased "one entry is picked a fifth too often (a biased pick)",
            Sorted "a pick comes in a fixed order";
        a_pick_has_as_many_distinct_entries_as_asked_for: Repeats "an entry is picked twice";
        only_four_and_five_stars_are_picked: ThreeStars "three stars are picked";
        a_pick_depends_on_the_given_chance_alone: OwnChance "the adapter rolls its own dice";
        what_is_picked_stays_right_whoever_writes_at_once: Holes "removed entries leave holes";
        a_change_of_rating_moves_an_entry_in_and_out_of_the_pick: RatingStays "a changed rating is not kept";
        a_pick_is_from_very_many_entries_and_has_as_many:
            PicksOfHundred "only the first hundred entries are picked from",
            PicksHundred "a pick has a hundred entries at most";
        a_put_that_is_given_up_is_made_whole_or_not_at_all:
            PutsInSteps "a put that is given up has taken the old entry away";
        pages_have_every_positive_entry_once_by_id:
            PagesHaveThreeStars "pages have three stars",
            PagesGoByTheAlphabet "ids are compared without their case";
        a_page_has_whole_entries_from_the_first_after_an_id_that_need_not_be_there:
            PagesRepeatTheirEdge "a page begins with the last entry of the one before";
        what_comes_and_goes_between_pages_leaves_the_others_whole:
            PagesByNumber "pages go on by number, and entries move into the gaps";
    }
}

fn wrong(fault: Fault) -> Fresh<Stores> {
    with(|stores| {
        let over = Arc::new(Over(Wrong {
            inner: stores.clone(),
            fault,
            chance: SeededEntropy::new(99),
            three_stars: Mutex::default(),
            hidden: Mutex::default(),
            all: Mutex::default(),
            read: Mutex::default(),
        }));
        stores.records = over.clone();
        stores.feedback = over;
    })
}

struct Wrong {
    inner: Stores,
    fault: Fault,
    chance: SeededEntropy,
    three_stars: Mutex<Vec<Arc<Feedback>>>,
    hidden: Mutex<HashSet<FeedbackId>>,
    /// Every id that was ever put, in order.
    all: Mutex<Vec<FeedbackId>>,
    read: Mutex<usize>,
}

impl Wrong {
    fn three_stars(&self) -> MutexGuard<'_, Vec<Arc<Feedback>>> {
        locked(&self.three_stars)
    }

    fn hidden(&self) -> MutexGuard<'_, HashSet<FeedbackId>> {
        locked(&self.hidden)
    }

    fn all(&self) -> MutexGuard<'_, Vec<FeedbackId>> {
        locked(&self.all)
    }
}

#[async_trait]
impl FeedbackStoreOver for Wrong {
    fn feedback(&self) -> &dyn FeedbackStore {
        &*self.inner.feedback
    }

    async fn pick_positive(&self, count: usize, seed: Seed) -> Result<Vec<Arc<Feedback>>, StoreError> {
        let mut picked = match self.fault {
            Fault::OwnChance => self.inner.feedback.pick_positive(count, self.chance.seed()).await?,
            Fault::PicksHundred => self.inner.feedback.pick_positive(count.min(100), seed).await?,
            Fault::PicksOfHundred => {
                let first: HashSet<_> = self.all().iter().take(100).cloned().collect();
                let mut picked = self.inner.feedback.pick_positive(usize::MAX, seed).await?;
                picked.retain(|entry| first.contains(&entry.id));
                picked.truncate(count);
                picked
            }
            Fault::Repeats => {
                let mut picked = Vec::new();
                for _ in 0..count.min(100) {
                    picked.extend(self.inner.feedback.pick_positive(1, seed).await?);
                }
                picked
            }
            _ => self.inner.feedback.pick_positive(count, seed).await?,
        };
        match self.fault {
            // One in three of the picks that lack the favourite is drawn again, so it comes up a fifth too often.
            Fault::Biased if !picked.iter().any(|entry| entry.id.as_str() == "e") => {
                let mut die = [0];
                self.chance.fill(&mut die);
                if die < [85] {
                    picked = self.inner.feedback.pick_positive(count, self.chance.seed()).await?;
                }
            }
            Fault::Sorted => picked.sort_by(|one, two| one.id.cmp(&two.id)),
            Fault::ThreeStars => picked.extend(self.three_stars().iter().cloned()),
            Fault::Holes => picked.retain(|entry| !self.hidden().contains(&entry.id)),
            _ => {}
        }
        Ok(picked)
    }

    async fn positive_after(
        &self,
        after: Option<&FeedbackId>,
        most: NonZeroU32,
    ) -> Result<Vec<Arc<Feedback>>, StoreError> {
        let all = self.inner.feedback.positive_after(None, NonZeroU32::MAX).await?;
        let most = most.get() as usize;
        let beyond = |entry: &Arc<Feedback>| after.is_none_or(|after| entry.id > *after);
        Ok(match self.fault {
            Fault::PagesHaveThreeStars => {
                let mut all = [all, self.three_stars().clone()].concat();
                all.sort_by(|one, two| one.id.cmp(&two.id));
                all.into_iter().filter(beyond).take(most).collect()
            }
            Fault::PagesGoByTheAlphabet => {
                let key = |id: &FeedbackId| id.as_str().to_lowercase();
                let mut all = all;
                all.sort_by_key(|entry| key(&entry.id));
                let beyond = |entry: &Arc<Feedback>| after.is_none_or(|after| key(&entry.id) > key(after));
                all.into_iter().filter(beyond).take(most).collect()
            }
            Fault::PagesRepeatTheirEdge => {
                let from = |entry: &Arc<Feedback>| after.is_none_or(|after| entry.id >= *after);
                all.into_iter().filter(from).take(most).collect()
            }
            Fault::PagesByNumber => {
                // What was read before counts, whatever has become of it since.
                let mut read = locked(&self.read);
                let page: Vec<_> = all.into_iter().skip(after.map_or(0, |_| *read)).take(most).collect();
                *read = after.map_or(0, |_| *read) + page.len();
                page
            }
            _ => all.into_iter().filter(beyond).take(most).collect(),
        })
    }
}

#[async_trait]
impl RecordsOver for Wrong {
    fn records(&self) -> &dyn Records {
        &*self.inner.records
    }

    async fn apply(&self, mut batch: Vec<Mutation>) -> Result<Applied, ApplyError> {
        for mutation in &mut batch {
            match mutation {
                Mutation::Put(Record::Feedback(entry)) => {
                    if entry.rating.stars() == 3 {
                        self.three_stars().push(Arc::new(entry.clone()));
                    }
                    self.hidden().remove(&entry.id);
                    self.all().retain(|id| *id != entry.id);
                    self.all().push(entry.id.clone());
                    let earlier = self.inner.feedback.find(&entry.id).await?;
                    match (self.fault, earlier) {
                        (Fault::RatingStays, Some(earlier)) => entry.rating = earlier.rating,
                        (Fault::PutsInSteps, Some(earlier)) if *earlier != *entry => {
                            self.records().remove(Key::Feedback(entry.id.clone())).await?;
                            a_turn().await;
                        }
                        _ => {}
                    }
                }
                Mutation::Remove(Key::Feedback(id)) => {
                    if let Fault::Holes = self.fault {
                        let gone = self.hidden().insert(id.clone());
                        let tally = if gone { Tally::REMOVED } else { Tally::NOTHING };
                        return Ok(Applied { tally, changes: vec![] });
                    }
                }
                _ => {}
            }
        }
        self.records().apply(batch).await
    }
}

//! Positive feedback, each entry rendered once.
//!
//! Requests pick from a whole snapshot in memory. A change is looked up by itself and put into the next snapshot. After the
//! start, and after a change of many entries, all of them are loaded beside the requests; until that is done, and where
//! there are more than fit, the store picks.

mod entries;

use self::entries::{Entries, Pages};
use crate::{
    envelope,
    wire::{FeedbackEntry, PickedFeedback},
};
use actix_web::web::Bytes;
use arc_swap::{ArcSwap, ArcSwapOption};
use async_trait::async_trait;
use companion_domain::{
    change::{Kind, Subject},
    model::{Feedback, FeedbackId},
    port::{ChangeBatch, Clock, Scheduler, StoreError, Subscriber},
    usecase::PickFeedback,
};
use std::{
    collections::HashSet,
    num::NonZeroU32,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// How many entries are kept. Where there are more, the store picks.
const MOST: usize = 1_000_000;
/// How many entries are loaded at once: a few milliseconds' work for the store.
const PAGE: NonZeroU32 = NonZeroU32::new(1000).unwrap();
/// How many changes are looked up one by one. More of them are a change of many.
const MOST_LOOK_UPS: usize = 1000;
/// How long a store that failed is left alone.
const RETRY_AFTER: Duration = Duration::from_secs(1);

pub(crate) const MESSAGE: &str = "What people like about the bot.";

/// The positive feedback of this process. Clones are the same.
#[derive(Clone)]
pub(crate) struct FeedbackProjection(Arc<Shared>);

struct Shared {
    /// How many entries are kept.
    most: usize,
    pick_feedback: Arc<PickFeedback>,
    scheduler: Arc<dyn Scheduler>,
    /// What every answer begins with.
    head: Vec<u8>,
    shown: ArcSwap<Shown>,
    /// Until when nobody asks the store to pick, in monotonic time, because it could not.
    stands_in_until: ArcSwapOption<Duration>,
    writer: Mutex<Writer>,
}

/// What requests see.
#[derive(Clone, Default)]
struct Shown {
    /// All positive entries, as of some moment.
    whole: Option<Pages>,
    /// Whether that moment is now.
    current: bool,
    /// What the writer has in memory beside them.
    index_bytes: usize,
}

/// What the next snapshot is made of.
#[derive(Default)]
struct Writer {
    entries: Entries,
    state: State,
    /// How often loading has begun. Only the last one counts.
    load: u64,
    /// What has changed since loading began: a page that is still on its way may have it as it was before.
    changed: HashSet<FeedbackId>,
}

#[derive(Default, PartialEq, Eq)]
enum State {
    /// Nothing was loaded, or there is more than fits.
    #[default]
    Absent,
    /// Pages are coming in.
    Loading,
    /// All entries are there.
    Whole,
}

/// What is in memory.
pub(crate) struct FeedbackMemory {
    pub(crate) entries: usize,
    pub(crate) bytes: usize,
}

impl FeedbackProjection {
    /// A projection of the feedback that this use case picks from.
    pub(super) fn new(pick_feedback: Arc<PickFeedback>, scheduler: Arc<dyn Scheduler>) -> Self {
        Self::with_most(MOST, pick_feedback, scheduler)
    }

    fn with_most(most: usize, pick_feedback: Arc<PickFeedback>, scheduler: Arc<dyn Scheduler>) -> Self {
        let shared = Shared {
            most,
            pick_feedback,
            scheduler,
            head: head(),
            shown: ArcSwap::default(),
            stands_in_until: ArcSwapOption::empty(),
            writer: Mutex::default(),
        };
        Self(Arc::new(shared))
    }

    /// An answer with a few entries, where all of them are in memory as they are now, or stand in for the store.
    pub(crate) fn pick(&self, clock: &dyn Clock) -> Option<Bytes> {
        let shown = self.0.shown.load();
        let stands_in =
            || self.0.stands_in_until.load().as_ref().is_some_and(|until| clock.monotonic() < **until);
        if shown.current || stands_in() { self.pick_from(&shown) } else { None }
    }

    /// Whether all entries were in memory once, if not as they are now.
    pub(crate) fn can_stand_in(&self) -> bool {
        self.0.shown.load().whole.is_some()
    }

    /// An answer from the last time that all entries were in memory, since the store cannot pick. The next callers are not
    /// made to wait for it either.
    pub(crate) fn stand_in(&self, clock: &dyn Clock) -> Option<Bytes> {
        let until = clock.monotonic().saturating_add(RETRY_AFTER);
        self.0.stands_in_until.store(Some(Arc::new(until)));
        self.pick_from(&self.0.shown.load())
    }

    fn pick_from(&self, shown: &Shown) -> Option<Bytes> {
        let whole = shown.whole.as_ref()?;
        let places = self.0.pick_feedback.places(whole.len());
        let picked = places.map(|place| whole.json(place?));
        Some(answer(&self.0.head, picked.into_iter().flatten()))
    }

    /// What is in memory now.
    pub(crate) fn memory(&self) -> FeedbackMemory {
        let shown = self.0.shown.load();
        let (entries, bytes) = shown.whole.as_ref().map_or((0, 0), |whole| (whole.len(), whole.bytes()));
        FeedbackMemory { entries, bytes: bytes + shown.index_bytes }
    }
}

/// The body of an answer up to its first entry.
fn head() -> Vec<u8> {
    let mut empty = envelope::success(MESSAGE, PickedFeedback(Vec::new())).unwrap_or_default().to_vec();
    empty.truncate(empty.len().saturating_sub(TAIL.len()));
    empty
}

/// The body of an answer after its last entry.
const TAIL: &[u8] = b"]}";

fn answer<'a>(head: &[u8], entries: impl Iterator<Item = &'a [u8]> + Clone) -> Bytes {
    let with_commas: usize = entries.clone().map(|json| json.len() + 1).sum();
    // Not a byte more: what has room to spare costs one more allocation when it is handed over.
    let mut body = Vec::with_capacity(head.len() + with_commas.saturating_sub(1) + TAIL.len());
    body.extend_from_slice(head);
    for (number, json) in entries.enumerate() {
        if number > 0 {
            body.push(b',');
        }
        body.extend_from_slice(json);
    }
    body.extend_from_slice(TAIL);
    body.into()
}

/// An entry as it is sent; nothing where it is not shown.
fn rendered(entry: &Feedback) -> Result<Option<Vec<u8>>, StoreError> {
    let json = entry.rating.is_positive().then(|| serde_json::to_vec(&FeedbackEntry::from(entry)));
    json.transpose().map_err(StoreError::corrupt)
}

impl Shared {
    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the store pick, and loads everything beside that. Returns which load it is.
    fn begin_to_load(&self) -> u64 {
        let mut writer = self.writer();
        *writer = Writer { state: State::Loading, load: writer.load + 1, ..Writer::default() };
        self.shown.store(Arc::new(Shown { current: false, ..Shown::clone(&self.shown.load()) }));
        writer.load
    }

    /// Loads everything, unless it is begun anew before.
    async fn load(&self, load: u64) {
        let mut after = None;
        let mut failed = false;
        loop {
            let page = match self.page(after.as_ref()).await {
                Ok(page) => page,
                Err(error) => {
                    if !std::mem::replace(&mut failed, true) {
                        tracing::warn!(cause = %error.cause, "cannot load feedback into memory: {error}");
                    }
                    self.scheduler.pause(RETRY_AFTER).await;
                    continue;
                }
            };
            after = page.last().map(|(id, _)| id.clone());
            if self.take_in(load, &page) {
                return;
            }
        }
    }

    async fn page(
        &self,
        after: Option<&FeedbackId>,
    ) -> Result<Vec<(FeedbackId, Option<Vec<u8>>)>, StoreError> {
        let page = self.pick_feedback.feedback.positive_after(after, PAGE).await?;
        page.iter().map(|entry| Ok((entry.id.clone(), rendered(entry)?))).collect()
    }

    /// Puts a page to the entries. Returns whether that was the last.
    fn take_in(&self, load: u64, page: &[(FeedbackId, Option<Vec<u8>>)]) -> bool {
        let mut writer = self.writer();
        if writer.load != load || writer.state != State::Loading {
            return true;
        }
        let Writer { entries, changed, .. } = &mut *writer;
        for (id, json) in page.iter().filter(|(id, _)| !changed.contains(id)) {
            entries.apply(id, json.as_deref());
        }
        let last = page.len() < PAGE.get() as usize;
        if last {
            writer.state = State::Whole;
            writer.changed = HashSet::new();
        }
        self.show(&mut writer);
        last || writer.state == State::Absent
    }

    /// Shows the entries if they are whole, and gives them up if there are too many.
    fn show(&self, writer: &mut Writer) {
        if writer.entries.pages().len() > self.most {
            tracing::info!(self.most, "there is more feedback than is kept in memory, so the store picks");
            *writer = Writer { load: writer.load, ..Writer::default() };
            self.shown.store(Arc::default());
        } else if writer.state == State::Whole {
            let (whole, index_bytes) = (Some(writer.entries.pages().clone()), writer.entries.index_bytes());
            self.shown.store(Arc::new(Shown { whole, current: true, index_bytes }));
        }
    }

    /// Looks these entries up, and shows them as they are.
    async fn look_up(&self, ids: HashSet<&FeedbackId>) -> Result<(), StoreError> {
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            let entry = self.pick_feedback.feedback.find(id).await?;
            found.push((id, entry.map(|entry| rendered(&entry)).transpose()?.flatten()));
        }
        let mut writer = self.writer();
        for (id, json) in found {
            match writer.state {
                State::Absent => return Ok(()),
                State::Loading => drop(writer.changed.insert(id.clone())),
                State::Whole => {}
            }
            writer.entries.apply(id, json.as_deref());
        }
        self.show(&mut writer);
        Ok(())
    }
}

#[async_trait]
impl Subscriber for FeedbackProjection {
    fn name(&self) -> &'static str {
        "feedback"
    }

    async fn receive(&self, batch: &ChangeBatch) -> Result<(), StoreError> {
        match touched(batch) {
            Some(ids) if ids.is_empty() => Ok(()),
            Some(ids) if ids.len() <= MOST_LOOK_UPS => self.0.look_up(ids).await,
            _ => {
                let (shared, load) = (Arc::clone(&self.0), self.0.begin_to_load());
                self.0.scheduler.start(Box::pin(async move { shared.load(load).await }));
                Ok(())
            }
        }
    }
}

/// Returns the entries that the news is about, or `None` if it may be about any.
fn touched(batch: &ChangeBatch) -> Option<HashSet<&FeedbackId>> {
    let ChangeBatch::Changes(changes) = batch else { return None };
    let touched = changes.iter().filter_map(|change| match &change.subject {
        Subject::Feedback(id) => Some(Some(id)),
        Subject::Many(Kind::Feedback) => Some(None),
        _ => None,
    });
    touched.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_domain::{
        change::Key,
        model::{Rating, Timestamp, User, UserId},
        port::{Mutation, Record},
        usecase::UseCases,
    };
    use companion_testkit::{
        use_cases::{InMemory, settings},
        world::a_feedback,
    };
    use proptest::prelude::*;
    use std::thread;

    fn entry() -> impl Strategy<Value = Feedback> {
        let name = || "\\PC{1,40}".prop_filter_map("a name", |name| name.parse().ok());
        let text = any::<String>().prop_filter_map("words", |text| text.parse().ok());
        let user =
            (1..=u64::MAX, name(), name(), "[a-z]{1,9}").prop_map(|(id, username, name, picture)| User {
                id: UserId::new(id).unwrap(),
                username,
                name,
                avatar: format!("https://pictures.example/{picture}.png").parse().unwrap(),
            });
        let id = "[A-Za-z0-9_-]{1,64}".prop_map(|id| id.parse().unwrap());
        let seconds = 0..=Timestamp::MAX_SECONDS;
        (id, text, 4..=5_i64, seconds, user).prop_map(|(id, text, stars, seconds, submitter)| Feedback {
            id,
            text,
            rating: Rating::new(stars).unwrap(),
            submitted_at: Timestamp::from_seconds(seconds).unwrap(),
            submitter,
        })
    }

    #[test]
    fn an_answer_takes_exactly_the_room_of_its_bytes() {
        for entries in [&[][..], &["{}"], &["{}", "{\"a\":1}", "{}"]] {
            let body = Vec::from(answer(&head(), entries.iter().map(|json| json.as_bytes())));
            assert_eq!(body.capacity(), body.len(), "{entries:?}");
        }
    }

    /// A projection of so many entries that follows these use cases.
    fn dispatcher(most: usize, memory: &InMemory, use_cases: &UseCases) -> FeedbackProjection {
        let (picks, scheduler) = (use_cases.pick_feedback.clone(), memory.scheduler.clone());
        let projection = FeedbackProjection::with_most(most, picks, scheduler);
        use_cases.dispatcher.add(Arc::new(projection.clone()));
        projection
    }

    async fn settled(memory: &InMemory, use_cases: &UseCases) {
        use_cases.dispatcher.catch_up().await.unwrap();
        memory.scheduler.settled().await;
    }

    fn put(id: &str) -> Mutation {
        Mutation::Put(Record::Feedback(a_feedback(id, 5)))
    }

    fn remove(id: &str) -> Mutation {
        Mutation::Remove(Key::Feedback(id.parse().unwrap()))
    }

    #[tokio::test]
    async fn beyond_what_is_kept_the_store_picks() {
        let memory = InMemory::new();
        let use_cases = UseCases::new(&memory.ports, settings());
        let kept = |projection: &FeedbackProjection| {
            projection.pick(&*memory.clock).map(|_| projection.memory().entries)
        };
        let written = async |batch| {
            memory.ports.stores.records.apply(batch).await.unwrap();
            settled(&memory, &use_cases).await;
        };
        let (two, three) = (dispatcher(2, &memory, &use_cases), dispatcher(3, &memory, &use_cases));
        written(["a", "b", "c"].map(put).into()).await;
        assert_eq!((kept(&two), kept(&three)), (None, Some(3)), "loaded");
        written(vec![put("d")]).await;
        assert_eq!(kept(&three), None, "came later");
        written(vec![remove("d")]).await;
        assert_eq!(kept(&three), None, "it is loaded again with the next change of many");
    }

    #[tokio::test]
    async fn a_pick_sees_all_changes_of_one_write_or_none() {
        let memory = InMemory::new();
        let use_cases = UseCases::new(&memory.ports, settings());
        let projection = dispatcher(MOST, &memory, &use_cases);
        let records = &use_cases.feed.records;
        records.write(put("a")).await.unwrap();
        settled(&memory, &use_cases).await;
        let (writing, clock) = (Arc::new(()), memory.clock.clone());
        let written = Arc::downgrade(&writing);
        let reader = thread::spawn(move || {
            while written.strong_count() > 0 {
                let answer = projection.pick(&*clock).unwrap();
                let answer = str::from_utf8(&answer).unwrap();
                assert_eq!(answer.matches("What I think").count(), 1, "{answer}");
            }
        });
        for (gone, new) in [("a", "b"), ("b", "a")].repeat(500) {
            records.apply(vec![remove(gone), put(new)]).await.unwrap();
        }
        drop(writing);
        reader.join().unwrap();
    }

    proptest! {
        #[test]
        fn an_answer_is_what_the_serialiser_gives(picked in proptest::collection::vec(entry(), 0..=5)) {
            let entries: Vec<_> = picked.iter().map(|entry| rendered(entry).unwrap().unwrap()).collect();
            let whole = PickedFeedback(picked.iter().map(FeedbackEntry::from).collect());
            let whole = envelope::success(MESSAGE, whole).unwrap();
            prop_assert_eq!(answer(&head(), entries.iter().map(Vec::as_slice)), whole);
        }
    }
}

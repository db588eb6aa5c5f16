//! Positive feedback, each entry rendered once.
//!
//! Requests pick from an immutable snapshot. A changed entry is read from the store and goes into the next snapshot. At
//! startup, and after a change of many entries, all are reloaded in the background. The store picks until that is done,
//! and if there are more entries than fit.

mod entries;

use self::entries::{Entries, Pages};
use crate::{
    envelope,
    wire::{Bounded, FeedbackEntry, PickedFeedback},
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

/// Maximum number of entries in memory. With more, the store picks.
pub(super) const MAX_ENTRIES: usize = 1_000_000;
/// Entries loaded per query: a few milliseconds of work for the store.
const PAGE_SIZE: NonZeroU32 = NonZeroU32::new(1000).unwrap();
/// Maximum number of changed entries that are read one by one. More trigger a reload.
const MAX_LOOK_UPS: usize = 1000;
/// Delay before the store is asked again after a failure.
const RETRY_AFTER: Duration = Duration::from_secs(1);

pub(crate) const MESSAGE: &str = "What people like about the bot.";

/// The positive feedback of this process. Clones share it.
#[derive(Clone)]
pub(crate) struct FeedbackProjection(Arc<Shared>);

struct Shared {
    /// Maximum number of entries.
    most: usize,
    pick_feedback: Arc<PickFeedback>,
    scheduler: Arc<dyn Scheduler>,
    /// The response body up to the first entry.
    head: Vec<u8>,
    snapshot: ArcSwap<Snapshot>,
    /// Until when picks use a stale snapshot without asking the store, in monotonic time.
    stale_until: ArcSwapOption<Duration>,
    writer: Mutex<Writer>,
}

/// The snapshot that requests read.
#[derive(Clone, Default)]
struct Snapshot {
    /// All positive entries as of some moment.
    whole: Option<Pages>,
    /// Whether the snapshot is up to date.
    is_current: bool,
    /// Memory of the writer's index.
    index_bytes: usize,
}

/// State of the next snapshot.
#[derive(Default)]
struct Writer {
    entries: Entries,
    state: LoadedFeedback,
    /// Number of loads started. Only pages of the latest are used.
    load: u64,
    /// Entries changed since the load began. Pages in flight may contain their old version.
    changed: HashSet<FeedbackId>,
}

#[derive(Default, PartialEq, Eq)]
enum LoadedFeedback {
    /// Not loaded, or more entries than fit.
    #[default]
    Absent,
    /// A load is in progress.
    Loading,
    /// All entries are loaded.
    Whole,
}

impl FeedbackProjection {
    /// Creates a projection of the feedback of this use case, with a maximum number of entries.
    pub(super) fn new(
        max_entries: usize,
        pick_feedback: Arc<PickFeedback>,
        scheduler: Arc<dyn Scheduler>,
    ) -> Self {
        Self(Arc::new(Shared {
            most: max_entries,
            pick_feedback,
            scheduler,
            head: head(),
            snapshot: ArcSwap::default(),
            stale_until: ArcSwapOption::empty(),
            writer: Mutex::default(),
        }))
    }

    /// Returns a response from memory if the snapshot is up to date, or if it stands in for a failed store.
    pub(crate) fn pick(&self, clock: &dyn Clock) -> Option<Bytes> {
        let snapshot = self.0.snapshot.load();
        let uses_stale =
            || self.0.stale_until.load().as_ref().is_some_and(|until| clock.monotonic() < **until);
        if snapshot.is_current || uses_stale() { self.pick_from(&snapshot) } else { None }
    }

    /// Whether there is a snapshot, even a stale one.
    pub(crate) fn can_stand_in(&self) -> bool {
        self.0.snapshot.load().whole.is_some()
    }

    /// Returns a response from a possibly stale snapshot, after the store failed. For the next second,
    /// [`pick`](Self::pick) does not wait for the store either.
    pub(crate) fn stand_in(&self, clock: &dyn Clock) -> Option<Bytes> {
        let until = clock.monotonic().saturating_add(RETRY_AFTER);
        self.0.stale_until.store(Some(Arc::new(until)));
        self.pick_from(&self.0.snapshot.load())
    }

    fn pick_from(&self, snapshot: &Snapshot) -> Option<Bytes> {
        let whole = snapshot.whole.as_ref()?;
        let places = self.0.pick_feedback.places(whole.len());
        let picked = places.map(|place| whole.json(place?));
        Some(answer(&self.0.head, picked.into_iter().flatten()))
    }

    /// Returns the number of entries in memory, and their size in bytes.
    pub(super) fn memory(&self) -> (usize, usize) {
        let snapshot = self.0.snapshot.load();
        let (entries, bytes) = snapshot.whole.as_ref().map_or((0, 0), |whole| (whole.len(), whole.bytes()));
        (entries, bytes + snapshot.index_bytes)
    }
}

/// Returns the response body up to its first entry.
fn head() -> Vec<u8> {
    let none: PickedFeedback<'_> = Bounded(Vec::new());
    let mut empty = envelope::success(MESSAGE, none).unwrap_or_default().to_vec();
    empty.truncate(empty.len().saturating_sub(TAIL.len()));
    empty
}

/// The response body after its last entry.
const TAIL: &[u8] = b"]}";

fn answer<'a>(head: &[u8], entries: impl Iterator<Item = &'a [u8]> + Clone) -> Bytes {
    let with_commas: usize = entries.clone().map(|json| json.len() + 1).sum();
    // Exact capacity: spare capacity would cost another allocation in the conversion to `Bytes`.
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

/// An entry's id, and its JSON unless its rating is not positive.
type RenderedEntry = (FeedbackId, Option<Vec<u8>>);

/// Renders an entry. Returns `None` if its rating is not positive.
fn rendered(entry: &Feedback) -> Result<Option<Vec<u8>>, StoreError> {
    let json = entry.rating.is_positive().then(|| serde_json::to_vec(&FeedbackEntry::from(entry)));
    json.transpose().map_err(StoreError::corrupt)
}

impl Shared {
    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a load; until it is complete, the store picks. Returns the number of the load.
    fn start_load(&self) -> u64 {
        let mut writer = self.writer();
        *writer = Writer { state: LoadedFeedback::Loading, load: writer.load + 1, ..Writer::default() };
        self.snapshot
            .store(Arc::new(Snapshot { is_current: false, ..Snapshot::clone(&self.snapshot.load()) }));
        writer.load
    }

    /// Loads all entries, unless a newer load starts.
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
            if self.add_page(load, &page) {
                return;
            }
        }
    }

    async fn page(&self, after: Option<&FeedbackId>) -> Result<Vec<RenderedEntry>, StoreError> {
        let page = self.pick_feedback.feedback.positive_after(after, PAGE_SIZE).await?;
        page.iter().map(|entry| Ok((entry.id.clone(), rendered(entry)?))).collect()
    }

    /// Adds a page of a load. Returns whether the load is over.
    fn add_page(&self, load: u64, page: &[RenderedEntry]) -> bool {
        let mut writer = self.writer();
        if writer.load != load || writer.state != LoadedFeedback::Loading {
            return true;
        }
        let Writer { entries, changed, .. } = &mut *writer;
        for (id, json) in page.iter().filter(|(id, _)| !changed.contains(id)) {
            entries.apply(id, json.as_deref());
        }
        let last = page.len() < PAGE_SIZE.get() as usize;
        if last {
            writer.state = LoadedFeedback::Whole;
            writer.changed = HashSet::new();
        }
        self.publish(&mut writer);
        last || writer.state == LoadedFeedback::Absent
    }

    /// Publishes a snapshot if all entries are loaded. Discards them if there are too many.
    fn publish(&self, writer: &mut Writer) {
        if writer.entries.pages().len() > self.most {
            tracing::info!(self.most, "more feedback than fits in memory, so the store picks");
            *writer = Writer { load: writer.load, ..Writer::default() };
            self.snapshot.store(Arc::default());
        } else if writer.state == LoadedFeedback::Whole {
            let (whole, index_bytes) = (Some(writer.entries.pages().clone()), writer.entries.index_bytes());
            self.snapshot.store(Arc::new(Snapshot { whole, is_current: true, index_bytes }));
        }
    }

    /// Reads these entries from the store and publishes them.
    async fn look_up(&self, ids: HashSet<&FeedbackId>) -> Result<(), StoreError> {
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            let entry = self.pick_feedback.feedback.find(id).await?;
            found.push((id, entry.map(|entry| rendered(&entry)).transpose()?.flatten()));
        }
        let mut writer = self.writer();
        for (id, json) in found {
            match writer.state {
                LoadedFeedback::Absent => return Ok(()),
                LoadedFeedback::Loading => drop(writer.changed.insert(id.clone())),
                LoadedFeedback::Whole => {}
            }
            writer.entries.apply(id, json.as_deref());
        }
        self.publish(&mut writer);
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
            Some(ids) if ids.len() <= MAX_LOOK_UPS => self.0.look_up(ids).await,
            _ => {
                let (shared, load) = (Arc::clone(&self.0), self.0.start_load());
                self.0.scheduler.start(Box::pin(async move { shared.load(load).await }));
                Ok(())
            }
        }
    }
}

/// Returns the entries that a batch changes, or `None` if it may change any.
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
        port::{Mutation, Record},
        usecase::UseCases,
    };
    use companion_testkit::{
        use_cases::{InMemory, settings},
        world::a_feedback,
    };
    use std::thread;

    #[test]
    fn assembled_responses_match_the_serialiser_in_size_and_bytes() {
        let entries = ["", "Words", "\"]},{ \\ ä"]
            .map(|text| Feedback { text: text.parse().unwrap(), ..a_feedback("a", 5) });
        for picked in [&entries[..0], &entries[..1], &entries] {
            let rendered: Vec<_> = picked.iter().map(|entry| rendered(entry).unwrap().unwrap()).collect();
            let body = Vec::from(answer(&head(), rendered.iter().map(Vec::as_slice)));
            assert_eq!(body.capacity(), body.len());
            let whole: PickedFeedback<'_> = Bounded(picked.iter().map(FeedbackEntry::from).collect());
            assert_eq!(body, envelope::success(MESSAGE, whole).unwrap());
        }
    }

    /// Creates a projection with this maximum that subscribes to these use cases.
    fn subscribed(max_entries: usize, memory: &InMemory, use_cases: &UseCases) -> FeedbackProjection {
        let (picks, scheduler) = (use_cases.pick_feedback.clone(), memory.scheduler.clone());
        let projection = FeedbackProjection::new(max_entries, picks, scheduler);
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
    async fn the_store_picks_beyond_the_maximum() {
        let memory = InMemory::new();
        let use_cases = UseCases::new(&memory.ports, settings());
        let kept =
            |projection: &FeedbackProjection| projection.pick(&*memory.clock).map(|_| projection.memory().0);
        let written = async |batch| {
            memory.ports.stores.records.apply(batch).await.unwrap();
            settled(&memory, &use_cases).await;
        };
        let (two, three) = (subscribed(2, &memory, &use_cases), subscribed(3, &memory, &use_cases));
        written(["a", "b", "c"].map(put).into()).await;
        assert_eq!((kept(&two), kept(&three)), (None, Some(3)), "loaded");
        written(vec![put("d")]).await;
        assert_eq!(kept(&three), None, "exceeded by a change");
        written(vec![remove("d")]).await;
        assert_eq!(kept(&three), None, "reloaded only with the next bulk change");
    }

    #[tokio::test]
    async fn a_pick_sees_a_write_completely_or_not_at_all() {
        let memory = InMemory::new();
        let use_cases = UseCases::new(&memory.ports, settings());
        let projection = subscribed(MAX_ENTRIES, &memory, &use_cases);
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
}

//! `GET /feedback`, also while entries are loaded into memory.

use crate::service::{Fault, Service};
use async_trait::async_trait;
use companion_domain::{
    change::Key,
    model::{Feedback, FeedbackId},
    port::{FeedbackStore, Mutation, Record, Records as _, StoreError, StoreErrorKind},
    rules::Seed,
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::{
    over::{FeedbackStoreOver, Over},
    use_cases::InMemory,
    world::a_feedback,
};
use serde_json::json;
use std::{
    num::NonZeroU32,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::{sync::Semaphore, time::Instant};

#[actix_web::test]
async fn feedback_entries_have_the_contract_fields() {
    let service = Service::new().await;
    assert_eq!(service.get("/feedback").await.data(), json!([]));
    service.put(Record::Feedback(a_feedback("one", 5))).await;
    let answer = service.get("/feedback").await;
    let submitter = json!({
        "username": "user1", "name": "User 1", "id": "1", "avatar": "https://cdn.example/avatars/1.png"
    });
    let entry = json!({
        "feedback": "What I think: one", "rating": 5, "timestamp": 1_767_000_000, "submitter": submitter
    });
    assert_eq!(answer.data(), json!([entry]));
    assert_eq!(answer.header("cache-control"), "no-store");
}

/// A store that reads a page at once, but returns it only when permitted.
struct HeldPages {
    inner: Arc<MemoryStorage>,
    /// One permit per page that may be returned.
    pages: Semaphore,
    /// Number of pages that fail before one is read.
    failing: AtomicU64,
    picks: AtomicU64,
    /// Fault of picking.
    fault: Mutex<Option<Fault>>,
}

impl HeldPages {
    fn over(inner: Arc<MemoryStorage>) -> Self {
        Self {
            inner,
            pages: Semaphore::new(0),
            failing: AtomicU64::new(0),
            picks: AtomicU64::new(0),
            fault: Mutex::default(),
        }
    }
}

#[async_trait]
impl FeedbackStoreOver for HeldPages {
    fn feedback(&self) -> &dyn FeedbackStore {
        &*self.inner
    }

    async fn pick_positive(&self, count: usize, seed: Seed) -> Result<Vec<Arc<Feedback>>, StoreError> {
        self.picks.fetch_add(1, SeqCst);
        let fault = *self.fault.lock().unwrap();
        match fault {
            None => self.inner.pick_positive(count, seed).await,
            Some(Fault::Fails(kind)) => Err(StoreError::new(kind, "told to fail")),
            Some(Fault::Hangs | Fault::Panics) => std::future::pending().await,
        }
    }

    async fn positive_after(
        &self,
        after: Option<&FeedbackId>,
        most: NonZeroU32,
    ) -> Result<Vec<Arc<Feedback>>, StoreError> {
        if self.failing.try_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
            return Err(StoreError::unavailable("told to fail"));
        }
        let page = self.inner.positive_after(after, most).await;
        self.pages.acquire().await.unwrap().forget();
        page
    }
}

/// Returns a service that begins to load these entries. Its history holds one change, so that two leave a gap.
async fn loading(ids: &[&str]) -> (Service, Arc<Over<HeldPages>>) {
    let mut held = None;
    let service = Service::with(|plan| {
        plan.memory = InMemory::over(MemoryStorage::with_history(1));
        let store = Arc::new(Over(HeldPages::over(plan.memory.storage.clone())));
        plan.memory.ports.stores.feedback = store.clone();
        plan.loaded = false;
        held = Some(store);
    })
    .await;
    let held = held.unwrap();
    for id in ids {
        service.memory.storage.put(Record::Feedback(a_feedback(id, 5))).await.unwrap();
    }
    service.use_cases.dispatcher.catch_up().await.unwrap();
    (service, held)
}

/// Releases this many pages, and waits until all entries are loaded.
async fn loaded(service: &Service, held: &HeldPages, pages: usize) {
    held.pages.add_permits(pages);
    service.memory.scheduler.settled().await;
}

/// Returns the shown entries, and the number of picks by the store.
async fn shown(service: &Service, held: &HeldPages) -> (Vec<String>, u64) {
    let before = held.picks.load(SeqCst);
    let data = service.get("/feedback").await.data();
    let mut texts: Vec<_> =
        data.as_array().unwrap().iter().map(|entry| entry["feedback"].as_str().unwrap().to_owned()).collect();
    texts.sort_unstable();
    (texts, held.picks.load(SeqCst) - before)
}

fn texts(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| format!("What I think: {id}")).collect()
}

#[actix_web::test]
async fn loads_entries_page_by_page() {
    let ids: Vec<_> = (0..2500).map(|number| format!("entry-{number:04}")).collect();
    let ids: Vec<_> = ids.iter().map(String::as_str).collect();
    let (service, held) = loading(&ids).await;
    held.pages.add_permits(2);
    tokio::task::yield_now().await;
    assert_eq!(shown(&service, &held).await.1, 1, "the last page is missing");
    loaded(&service, &held, 1).await;
    let (five, picks) = shown(&service, &held).await;
    assert_eq!((five.len(), picks), (5, 0));
}

#[actix_web::test]
async fn changes_during_a_load_win_over_stale_pages() {
    let (service, held) = loading(&["changes", "comes-down", "goes", "stays"]).await;
    // The page was read before these changes and is delivered after them.
    tokio::task::yield_now().await;
    let changed = Feedback { text: "Other words".parse().unwrap(), ..a_feedback("changes", 5) };
    service.put(Record::Feedback(changed)).await;
    service.put(Record::Feedback(a_feedback("comes-down", 1))).await;
    service.write(Mutation::Remove(Key::Feedback("goes".parse().unwrap()))).await;
    service.put(Record::Feedback(a_feedback("new", 5))).await;
    let expected = ["Other words", "What I think: new", "What I think: stays"].map(str::to_owned).to_vec();
    assert_eq!(shown(&service, &held).await, (expected.clone(), 1));
    loaded(&service, &held, 1).await;
    assert_eq!(shown(&service, &held).await, (expected, 0));
}

#[actix_web::test]
async fn retries_loading_until_the_store_recovers() {
    tokio::time::pause();
    let (service, held) = loading(&["a"]).await;
    loaded(&service, &held, 1).await;
    held.failing.store(3, SeqCst);
    let begun = Instant::now();
    gap(&service, &["b", "c"]).await;
    loaded(&service, &held, 1).await;
    assert_eq!(begun.elapsed().as_secs(), 3);
    assert_eq!(shown(&service, &held).await, (texts(&["a", "b", "c"]), 0));
}

/// Changes entries without the history reaching back, so that everything is reloaded.
async fn gap(service: &Service, ids: &[&str]) {
    for id in ids {
        service.memory.storage.put(Record::Feedback(a_feedback(id, 5))).await.unwrap();
    }
    service.use_cases.dispatcher.catch_up().await.unwrap();
}

#[actix_web::test]
async fn a_restarted_load_discards_earlier_pages() {
    let (service, held) = loading(&["a", "b"]).await;
    tokio::task::yield_now().await;
    // The first page has both; then both are removed and another is added.
    for id in ["a", "b"] {
        service.memory.storage.remove(Key::Feedback(id.parse().unwrap())).await.unwrap();
    }
    gap(&service, &["c"]).await;
    loaded(&service, &held, 2).await;
    assert_eq!(shown(&service, &held).await, (texts(&["c"]), 0));
}

#[actix_web::test]
async fn a_stale_snapshot_replaces_a_failing_store() {
    tokio::time::pause();
    let (service, held) = loading(&["a"]).await;
    loaded(&service, &held, 1).await;
    gap(&service, &["b", "c"]).await;
    for (fault, wait) in [(Fault::Fails(StoreErrorKind::Unavailable), 0), (Fault::Hangs, 250)] {
        *held.fault.lock().unwrap() = Some(fault);
        let begun = Instant::now();
        assert_eq!(shown(&service, &held).await, (texts(&["a"]), 1), "{fault:?}");
        // Timers have a resolution of one millisecond and never fire early.
        assert!((wait..=wait + 1).contains(&begun.elapsed().as_millis()), "{fault:?}");
        assert_eq!(shown(&service, &held).await, (texts(&["a"]), 0), "later requests do not wait");
        service.memory.clock.advance(Duration::from_secs(1));
    }
    *held.fault.lock().unwrap() = None;
    assert_eq!(shown(&service, &held).await, (texts(&["a", "b", "c"]), 1));
}

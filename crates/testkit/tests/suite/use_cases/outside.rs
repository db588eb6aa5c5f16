//! A feed that also tells of what is kept outside of the store.

use crate::use_cases::following::Recorder;
use async_trait::async_trait;
use companion_domain::{
    change::{Changes, Kind, Revision, Subject},
    port::{BlockList as _, ChangeFeed, FeedWithOutside, News, Outside, StoreError},
    usecase::Following,
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::{clock::FixedClock, world::user_id};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
};

/// Changes when it is told to, and fails when it is told to.
#[derive(Default)]
struct Counter {
    version: AtomicU64,
    failing: AtomicBool,
}

impl Counter {
    fn change(&self) {
        self.version.fetch_add(1, SeqCst);
    }
}

#[async_trait]
impl Outside for Counter {
    async fn version(&self) -> Result<u64, StoreError> {
        if self.failing.load(SeqCst) {
            return Err(StoreError::unavailable("away"));
        }
        Ok(self.version.load(SeqCst))
    }
}

struct Scene {
    store: Arc<MemoryStorage>,
    outside: Arc<Counter>,
    feed: Arc<FeedWithOutside>,
}

impl Scene {
    fn new() -> Self {
        let (store, outside) = (Arc::new(MemoryStorage::new()), Arc::new(Counter::default()));
        let feed = Arc::new(FeedWithOutside::new(store.clone(), Kind::Team, outside.clone()));
        Self { store, outside, feed }
    }

    fn followed(&self) -> (Arc<Following>, Arc<Recorder>) {
        let following = Following::new(self.feed.clone(), Arc::new(FixedClock::default()));
        let recorder = Arc::new(Recorder::default());
        following.add(recorder.clone());
        (following, recorder)
    }

    async fn blocks(&self, user: u64) {
        self.store.block(user_id(user)).await.unwrap();
    }

    async fn since(&self, revision: Revision) -> Changes {
        self.feed.since(revision).await.unwrap()
    }
}

const TEAM: Subject = Subject::Many(Kind::Team);

fn blocked(user: u64) -> Subject {
    Subject::Blocked(user_id(user))
}

#[tokio::test]
async fn a_follower_that_failed_at_a_change_outside_is_told_again() {
    let scene = Scene::new();
    let (following, recorder) = scene.followed();
    following.catch_up().await.unwrap();
    scene.outside.change();
    recorder.fail(true);
    for _ in 0..3 {
        assert!(following.catch_up().await.is_err());
    }
    recorder.fail(false);
    following.catch_up().await.unwrap();
    assert_eq!(recorder.subjects(), [TEAM]);
    following.catch_up().await.unwrap();
    assert_eq!(recorder.subjects(), [TEAM], "once it has heard");
}

#[tokio::test]
async fn followers_at_different_positions_all_hear_of_a_change_outside() {
    let scene = Scene::new();
    let (following, behind) = scene.followed();
    let ahead = Arc::new(Recorder::default());
    following.add(ahead.clone());
    following.catch_up().await.unwrap();
    behind.fail(true);
    scene.blocks(1).await;
    assert!(following.catch_up().await.is_err());
    behind.fail(false);
    scene.outside.change();
    following.catch_up().await.unwrap();
    for follower in [ahead, behind] {
        assert_eq!(follower.heard().iter().filter(|news| **news == News::Everything).count(), 1);
        assert_eq!(follower.subjects(), [blocked(1), TEAM]);
    }
}

/// Someone who reads the feed, and what it knows.
#[derive(Clone, Copy, Default)]
struct Reader {
    position: Revision,
    changes: usize,
    version: u64,
}

#[tokio::test]
async fn every_reader_hears_of_each_change_of_the_store_once_and_of_the_outside_whenever_it_changed() {
    let scene = Scene::new();
    let mut written = Vec::new();
    let mut readers = [Reader::default(); 4];
    let mut chance = 7_u64;
    let mut draw = |sides: u64| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (chance >> 33) % sides
    };
    scene.feed.latest().await.unwrap();
    for step in 1..=5000 {
        match draw(4) {
            0 => {
                scene.blocks(step).await;
                written.push(blocked(step));
            }
            1 => scene.outside.change(),
            _ => {
                let reader = &mut readers[usize::try_from(draw(4)).unwrap()];
                let Changes::Listed(changes) = scene.since(reader.position).await else {
                    panic!("nobody is that far behind");
                };
                assert!(changes.is_sorted_by(|one, two| one.revision < two.revision));
                assert!(changes.iter().all(|change| change.revision > reader.position));
                let within = changes.iter().map(|change| &change.subject).filter(|one| **one != TEAM);
                assert!(within.eq(&written[reader.changes..]), "step {step}");
                let version = scene.outside.version().await.unwrap();
                let told = changes.iter().any(|change| change.subject == TEAM);
                assert_eq!(told, reader.version != version, "step {step}");
                // Whoever fails is told the same again.
                if draw(3) > 0 {
                    let position = changes.last().map_or(reader.position, |change| change.revision);
                    *reader = Reader { position, changes: written.len(), version };
                    assert_eq!(position, scene.feed.latest().await.unwrap());
                }
            }
        }
    }
}

#[tokio::test]
async fn whoever_is_very_many_changes_outside_behind_is_told_of_a_gap() {
    let scene = Scene::new();
    let mut handed_out = vec![scene.feed.latest().await.unwrap()];
    for user in 1..=1000 {
        scene.blocks(user).await;
        scene.outside.change();
        handed_out.push(scene.feed.latest().await.unwrap());
    }
    assert_eq!(scene.since(handed_out[0]).await, Changes::Gap(handed_out[1000]));
    let Changes::Listed(changes) = scene.since(handed_out[1]).await else { panic!("not so far behind") };
    assert_eq!(changes.len(), 2 * 999);
}

#[tokio::test]
async fn while_the_outside_fails_the_feed_fails_and_nothing_is_lost() {
    let scene = Scene::new();
    let (following, recorder) = scene.followed();
    following.catch_up().await.unwrap();
    scene.outside.failing.store(true, SeqCst);
    scene.outside.change();
    scene.blocks(1).await;
    assert!(following.catch_up().await.is_err() && scene.feed.latest().await.is_err());
    scene.outside.failing.store(false, SeqCst);
    following.catch_up().await.unwrap();
    assert_eq!(recorder.subjects(), [blocked(1), TEAM]);
}

/// A store that can be exchanged, as for a backup.
struct Restored(Mutex<Arc<MemoryStorage>>);

impl Restored {
    fn now(&self) -> Arc<MemoryStorage> {
        self.0.lock().unwrap().clone()
    }
}

#[async_trait]
impl ChangeFeed for Restored {
    async fn latest(&self) -> Result<Revision, StoreError> {
        self.now().latest().await
    }

    async fn since(&self, revision: Revision) -> Result<Changes, StoreError> {
        self.now().since(revision).await
    }
}

#[tokio::test]
async fn a_store_that_went_back_is_a_gap_from_which_everyone_goes_on() {
    for changes_meanwhile in [false, true] {
        let store = Arc::new(Restored(Mutex::default()));
        let outside = Arc::new(Counter::default());
        let feed = FeedWithOutside::new(store.clone(), Kind::Team, outside.clone());
        feed.latest().await.unwrap();
        for user in 1..=10 {
            store.now().block(user_id(user)).await.unwrap();
        }
        outside.change();
        let before = feed.latest().await.unwrap();
        *store.0.lock().unwrap() = Arc::default();
        if changes_meanwhile {
            outside.change();
        }
        let Changes::Gap(latest) = feed.since(before).await.unwrap() else { panic!("a gap") };
        assert!(latest > before, "never a revision that meant something else");
        assert_eq!(feed.since(latest).await.unwrap(), Changes::Listed(vec![]));
        store.now().block(user_id(1)).await.unwrap();
        outside.change();
        let Changes::Listed(changes) = feed.since(latest).await.unwrap() else { panic!("no gap any more") };
        let subjects: Vec<_> = changes.into_iter().map(|change| change.subject).collect();
        assert_eq!(subjects, [blocked(1), TEAM]);
    }
}

#[tokio::test]
async fn a_change_of_the_store_wakes_whoever_waits_at_a_revision_of_the_feed() {
    let scene = Scene::new();
    let (following, _) = scene.followed();
    following.catch_up().await.unwrap();
    scene.blocks(1).await;
    for _ in 0..5 {
        scene.outside.change();
        following.catch_up().await.unwrap();
    }
    let mut waiting = tokio::spawn(async move { following.news().await });
    tokio::select! {
        biased;
        _ = &mut waiting => panic!("there is no news yet"),
        () = tokio::task::yield_now() => {}
    }
    scene.blocks(2).await;
    waiting.await.unwrap();
    scene.feed.news(Revision(0)).await;
}

//! What is kept outside of the store, and a feed that tells of it.

use super::{ChangeFeed, StoreError};
use crate::change::{Change, Changes, Kind, Revision, Subject};
use async_trait::async_trait;
use futures_util::lock::Mutex;
use std::{collections::VecDeque, sync::Arc};

/// Something outside of the store that can say whether it has changed.
#[async_trait]
pub trait Outside: Send + Sync {
    /// A number that is never the same for two states that differ: a counter that every write moves in the step that makes
    /// it, or a hash of all there is. It has moved no later than the answer to the write. Only this process compares it,
    /// so it may begin anew with every start.
    ///
    /// It is asked several times a second, and after every write of the bot. While it fails, the feed fails, and copies of
    /// sessions and rights soon do not count any more. An adapter that would rather be late answers with the last number
    /// that it knew.
    async fn version(&self) -> Result<u64, StoreError>;
}

/// The feed of a store beside which one kind of things is kept elsewhere: whenever that has changed, a change to
/// [`Many`](Subject::Many) of the kind stands in the history.
///
/// Its revisions are its own: those of the store, moved up by one for every change outside. They are no revisions of the
/// store, and mean nothing to another process, whose followers begin by loading everything.
pub struct FeedWithOutside {
    store: Arc<dyn ChangeFeed>,
    kind: Kind,
    outside: Arc<dyn Outside>,
    /// Held while the store is asked, so that no revision is handed out in a way that has just become wrong.
    history: Mutex<History>,
}

/// How many changes outside are remembered. Whoever is further behind is told of a gap.
const REMEMBERED: usize = 1000;

/// Where changes outside stand among those of the store.
struct History {
    /// What the outside said last.
    version: Option<u64>,
    /// In order, and never empty. History begins at the first, and each later one is a change outside.
    turns: VecDeque<Turn>,
}

/// From here on the revisions of both are this far apart.
#[derive(Clone, Copy, Default)]
struct Turn {
    own: Revision,
    /// The newest change of the store that comes before it.
    store: Revision,
}

impl Turn {
    /// A revision of the store, as one that is handed out.
    fn hand_out(self, store: Revision) -> Revision {
        Revision(store.0.saturating_sub(self.store.0).saturating_add(self.own.0))
    }

    /// The revision of the store behind one that was handed out.
    fn take_back(self, own: Revision) -> Revision {
        Revision(own.0.saturating_sub(self.own.0).saturating_add(self.store.0))
    }
}

impl History {
    fn newest(&self) -> Turn {
        self.turns.back().copied().unwrap_or_default()
    }

    /// The turn that counts at a revision that was handed out. None where history does not reach back that far.
    fn turn_at(&self, own: Revision) -> Option<Turn> {
        self.before(self.turns.partition_point(|turn| turn.own <= own))
    }

    /// The turn that counts for a change of the store.
    fn turn_of(&self, change: Revision) -> Turn {
        self.before(self.turns.partition_point(|turn| turn.store < change)).unwrap_or_default()
    }

    fn before(&self, index: usize) -> Option<Turn> {
        self.turns.get(index.checked_sub(1)?).copied()
    }

    /// Something outside has changed, when the store was here.
    fn turn(&mut self, store: Revision) {
        let newest = self.newest();
        if store < newest.store {
            return self.begin_anew(store);
        }
        let Revision(last) = newest.hand_out(store);
        self.turns.push_back(Turn { own: Revision(last + 1), store });
        let excess = self.turns.len().saturating_sub(REMEMBERED);
        self.turns.drain(..excess);
    }

    /// The store has gone back, as to a backup: nobody knows any more what came before.
    fn begin_anew(&mut self, store: Revision) {
        let own = Revision(self.newest().own.0 + 1);
        self.turns.clear();
        self.turns.push_back(Turn { own, store });
    }

    /// The revision to hand out for the store's latest.
    fn latest(&mut self, store: Revision) -> Revision {
        if store < self.newest().store {
            self.begin_anew(store);
        }
        self.newest().hand_out(store)
    }

    /// Everything after a revision: what the store lists, and the changes outside.
    fn list(&self, after: Revision, changes: Vec<Change>, kind: Kind) -> Vec<Change> {
        let within = changes.into_iter().map(|Change { revision, subject }| {
            let revision = self.turn_of(revision).hand_out(revision);
            Change { revision, subject }
        });
        let outside = self.turns.iter().filter(|turn| turn.own > after);
        let outside = outside.map(|turn| Change { revision: turn.own, subject: Subject::Many(kind) });
        let mut all: Vec<_> = within.chain(outside).collect();
        all.sort_by_key(|change| change.revision);
        all
    }
}

impl FeedWithOutside {
    /// Tells what this feed tells, and of this kind whenever the outside has changed.
    #[must_use]
    pub fn new(store: Arc<dyn ChangeFeed>, kind: Kind, outside: Arc<dyn Outside>) -> Self {
        let history = History { version: None, turns: VecDeque::from([Turn::default()]) };
        Self { store, kind, outside, history: Mutex::new(history) }
    }

    /// Asks the outside, before the store: what changes later is noticed the next time.
    async fn notice(&self, history: &mut History) -> Result<(), StoreError> {
        let version = self.outside.version().await?;
        if history.version.is_some_and(|known| known != version) {
            history.turn(self.store.latest().await?);
        }
        history.version = Some(version);
        Ok(())
    }
}

#[async_trait]
impl ChangeFeed for FeedWithOutside {
    async fn latest(&self) -> Result<Revision, StoreError> {
        let mut history = self.history.lock().await;
        self.notice(&mut history).await?;
        Ok(history.latest(self.store.latest().await?))
    }

    async fn since(&self, revision: Revision) -> Result<Changes, StoreError> {
        let mut history = self.history.lock().await;
        self.notice(&mut history).await?;
        let Some(turn) = history.turn_at(revision) else {
            return Ok(Changes::Gap(history.latest(self.store.latest().await?)));
        };
        Ok(match self.store.since(turn.take_back(revision)).await? {
            Changes::Gap(latest) => Changes::Gap(history.latest(latest)),
            Changes::Listed(changes) => Changes::Listed(history.list(revision, changes, self.kind)),
        })
    }

    async fn news(&self, revision: Revision) {
        let newest = self.history.lock().await.newest();
        if revision >= newest.own {
            self.store.news(newest.take_back(revision)).await;
        }
    }
}

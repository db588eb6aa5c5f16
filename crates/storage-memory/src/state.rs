//! The state that all ports share, and its lock.

use crate::{
    journal::Journal,
    keyed::Rows,
    table::{
        feedback::FeedbackEntries, grants::Grants, guilds::Guilds, history::History, sessions::Sessions,
        spent_codes::Marks, subscriptions::Subscriptions,
    },
};
use companion_domain::{
    change::{Applied, Change, Kind, Revision, Subject, Tally},
    model::{
        ClusterId, GuildId, Heartbeat, Name, Notice, NoticeId, Outline, Period, PeriodSubject,
        StaffPermissions, TeamMember, Timestamp, UserId,
    },
    port::PlatformPause,
    settings::{HistoryEntry, Schema, Stored},
};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use tokio::sync::watch;

/// Default number of changes kept in the history.
const DEFAULT_HISTORY: usize = 65_536;

/// Implements every storage port in memory. Clones share their state.
#[derive(Clone)]
pub struct MemoryStorage {
    inner: Arc<Inner>,
}

struct Inner {
    state: RwLock<Tables>,
    latest: watch::Sender<Revision>,
}

/// All tables, and the history of their changes.
pub(crate) struct Tables {
    pub(crate) sessions: Sessions,
    pub(crate) spent_codes: Marks,
    /// The last pause requested by the platform, expired or not.
    pub(crate) platform_pause: Option<PlatformPause>,
    pub(crate) grants: Grants,
    pub(crate) guilds: Guilds,
    pub(crate) subscriptions: Subscriptions,
    /// Permissions granted to individual users.
    pub(crate) staff: Rows<UserId, StaffPermissions>,
    /// A user is blocked if there is a row.
    pub(crate) blocked: Rows<UserId, ()>,
    pub(crate) feedback: FeedbackEntries,
    /// Places in the team, by user and category.
    pub(crate) team: Rows<(UserId, Name), TeamMember>,
    /// Removed with their guild.
    pub(crate) outlines: Rows<GuildId, Arc<Outline>>,
    /// The published schema, in one row.
    pub(crate) schema: Rows<(), Arc<Schema>>,
    pub(crate) settings: Rows<GuildId, Stored>,
    /// By guild and revision.
    pub(crate) settings_edits: Rows<(GuildId, u64), HistoryEntry>,
    pub(crate) notices: Rows<NoticeId, Notice>,
    /// By subject and beginning.
    pub(crate) periods: Rows<(PeriodSubject, Timestamp), Period>,
    /// The last report of each cluster.
    pub(crate) clusters: Rows<ClusterId, Arc<Heartbeat>>,
    history: History,
}

impl Tables {
    pub(crate) const fn history(&self) -> &History {
        &self.history
    }
}

impl MemoryStorage {
    /// Creates an empty store that keeps its last 65536 changes.
    #[must_use]
    pub fn new() -> Self {
        Self::with_history(DEFAULT_HISTORY)
    }

    /// Creates an empty store that keeps this many changes. A request for older ones yields a gap.
    #[must_use]
    pub fn with_history(changes: usize) -> Self {
        let state = Tables {
            sessions: Sessions::default(),
            spent_codes: Marks::default(),
            platform_pause: None,
            grants: Grants::default(),
            guilds: Guilds::default(),
            subscriptions: Subscriptions::default(),
            staff: Rows::new(Subject::Staff),
            blocked: Rows::new(Subject::Blocked),
            feedback: FeedbackEntries::default(),
            team: Rows::new(|_| Subject::Many(Kind::Team)),
            outlines: Rows::new(Subject::Outline),
            schema: Rows::new(|()| Subject::Many(Kind::Schema)),
            settings: Rows::new(|_| Subject::Many(Kind::Settings)),
            settings_edits: Rows::new(|_| Subject::Many(Kind::SettingsEdit)),
            notices: Rows::new(Subject::Notice),
            periods: Rows::new(|_| Subject::Many(Kind::Period)),
            clusters: Rows::new(Subject::Cluster),
            history: History::new(changes),
        };
        let inner = Inner { state: RwLock::new(state), latest: watch::Sender::new(Revision::default()) };
        Self { inner: Arc::new(inner) }
    }

    /// Locks the state for reading. Callers must not await while they hold the guard.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Tables> {
        self.inner.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state atomically. Changes noted in the journal are appended to the history in the same step.
    pub(crate) fn write<T>(&self, change: impl FnOnce(&mut Tables, &mut Journal) -> T) -> T {
        self.write_changes(change).0
    }

    /// Changes the state atomically, and returns what changed. If `change` fails, it must not have noted anything.
    pub(crate) fn apply_with<E>(
        &self,
        change: impl FnOnce(&mut Tables, &mut Journal) -> Result<Tally, E>,
    ) -> Result<Applied, E> {
        let (tally, changes) = self.write_changes(change);
        Ok(Applied { tally: tally?, changes })
    }

    fn write_changes<T>(&self, change: impl FnOnce(&mut Tables, &mut Journal) -> T) -> (T, Vec<Change>) {
        let mut journal = Journal::default();
        let mut state = self.inner.state.write().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut state, &mut journal);
        let changes = state.history.append(journal);
        if let Some(last) = changes.last() {
            self.inner.latest.send_replace(last.revision);
        }
        (result, changes)
    }

    /// Waits until the newest revision differs from `revision`.
    pub(crate) async fn wait_for_other(&self, revision: Revision) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.inner.latest.subscribe().wait_for(|latest| *latest != revision).await;
    }
}

impl Default for MemoryStorage {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for MemoryStorage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryStorage").finish_non_exhaustive()
    }
}

//! Which storage.

use super::{Unserviceable, metrics::StorageMetrics};
use crate::configuration::StorageUrl;
use companion_domain::port::{
    BlockList, BotTelemetry, ChangeFeed, FeedbackStore, GrantStore, GuildDirectory, Health, SessionStore,
    SpentCodes, StaffDirectory, SubscriptionStore, TeamRoster, WorldStore,
};
use companion_http::MetricsSource;
use companion_storage_diesel::{DieselStorage, SqliteOptions};
use companion_storage_memory::MemoryStorage;
use std::sync::Arc;

/// Every storage port. Each can be replaced alone.
#[derive(Clone)]
pub struct StoragePorts {
    /// Sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// Grants of the platform.
    pub grants: Arc<dyn GrantStore>,
    /// Codes that were used.
    pub codes: Arc<dyn SpentCodes>,
    /// Guilds and members.
    pub guilds: Arc<dyn GuildDirectory>,
    /// Premium subscriptions.
    pub subscriptions: Arc<dyn SubscriptionStore>,
    /// Grants by name.
    pub staff: Arc<dyn StaffDirectory>,
    /// Blocked users.
    pub blocked: Arc<dyn BlockList>,
    /// Feedback.
    pub feedback: Arc<dyn FeedbackStore>,
    /// The team.
    pub team: Arc<dyn TeamRoster>,
    /// Reports of the bot.
    pub telemetry: Arc<dyn BotTelemetry>,
    /// All of the feed at once.
    pub world: Arc<dyn WorldStore>,
    /// The history of changes.
    pub changes: Arc<dyn ChangeFeed>,
    /// How the store is.
    pub health: Arc<dyn Health>,
}

impl StoragePorts {
    /// One store behind every port.
    pub fn of<S>(store: &Arc<S>) -> Self
    where
        S: SessionStore
            + GrantStore
            + SpentCodes
            + GuildDirectory
            + SubscriptionStore
            + StaffDirectory
            + BlockList
            + FeedbackStore
            + TeamRoster
            + BotTelemetry
            + WorldStore
            + ChangeFeed
            + Health
            + 'static,
    {
        Self {
            sessions: Arc::clone(store) as _,
            grants: Arc::clone(store) as _,
            codes: Arc::clone(store) as _,
            guilds: Arc::clone(store) as _,
            subscriptions: Arc::clone(store) as _,
            staff: Arc::clone(store) as _,
            blocked: Arc::clone(store) as _,
            feedback: Arc::clone(store) as _,
            team: Arc::clone(store) as _,
            telemetry: Arc::clone(store) as _,
            world: Arc::clone(store) as _,
            changes: Arc::clone(store) as _,
            health: Arc::clone(store) as _,
        }
    }
}

/// A store that was opened, by what it is.
#[derive(Clone)]
pub enum Storage {
    /// In memory.
    Memory(Arc<MemoryStorage>),
    /// In a SQLite file.
    Sqlite(Arc<DieselStorage>),
}

impl Storage {
    /// Opens the storage behind a URL. A SQLite file is created where there is none, and brought up to date.
    pub async fn open(url: &StorageUrl) -> Result<Self, Unserviceable> {
        match url {
            StorageUrl::Memory => Ok(Self::Memory(Arc::new(MemoryStorage::new()))),
            StorageUrl::Sqlite(path) => {
                let opened = DieselStorage::open(SqliteOptions::new(path)).await;
                let storage = opened.map_err(|error| Unserviceable::Failed(format!("storage.url: {error}")))?;
                Ok(Self::Sqlite(Arc::new(storage)))
            }
            StorageUrl::Postgres(_) => Err(Unserviceable::Refused(
                "storage.url: storage in `postgres:` is not built yet\n    fix: set COMPANION_STORAGE__URL=sqlite:PATH"
                    .to_owned(),
            )),
        }
    }

    /// The store behind every port.
    #[must_use]
    pub fn ports(&self) -> StoragePorts {
        match self {
            Self::Memory(storage) => StoragePorts::of(storage),
            Self::Sqlite(storage) => StoragePorts::of(storage),
        }
    }

    /// What the store counts, where it counts.
    #[must_use]
    pub fn metrics(&self) -> Option<Arc<dyn MetricsSource>> {
        match self {
            Self::Memory(_) => None,
            Self::Sqlite(storage) => Some(Arc::new(StorageMetrics(Arc::clone(storage)))),
        }
    }

    /// Finishes what is waiting to be written.
    pub async fn close(&self) {
        match self {
            Self::Memory(_) => {}
            Self::Sqlite(storage) => storage.close().await,
        }
    }
}

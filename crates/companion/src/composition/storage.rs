//! Which storage.

use super::Unserviceable;
use crate::configuration::StorageUrl;
use companion_domain::port::{
    BlockList, BotTelemetry, ChangeFeed, FeedbackStore, GrantStore, GuildDirectory, Health, SessionStore,
    SpentCodes, StaffDirectory, SubscriptionStore, TeamRoster, WorldStore,
};
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

/// The storage behind a URL.
pub(super) fn open(url: &StorageUrl) -> Result<StoragePorts, Unserviceable> {
    match url {
        StorageUrl::Memory => Ok(StoragePorts::of(&Arc::new(MemoryStorage::new()))),
        StorageUrl::Sqlite(_) => Err(not_built("sqlite:")),
        StorageUrl::Postgres(_) => Err(not_built("postgres:")),
    }
}

fn not_built(scheme: &str) -> Unserviceable {
    Unserviceable(format!(
        "storage.url: storage in `{scheme}` is not built yet\n    fix: set COMPANION_STORAGE__URL=memory: (it forgets \
         everything when the program ends)"
    ))
}

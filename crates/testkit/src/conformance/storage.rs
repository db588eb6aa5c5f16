//! All storage ports over one store.

use companion_domain::port::{
    BlockList, BotTelemetry, ChangeFeed, FeedbackStore, GrantStore, GuildDirectory, Health, SessionStore,
    SignIns, SpentCodes, StaffDirectory, SubscriptionStore, TeamRoster, WorldStore,
};
use std::sync::Arc;

/// One handle per storage port, all of them to the same store.
#[derive(Clone)]
pub struct Stores {
    /// Blocked users.
    pub blocked: Arc<dyn BlockList>,
    /// The history of changes.
    pub changes: Arc<dyn ChangeFeed>,
    /// Feedback.
    pub feedback: Arc<dyn FeedbackStore>,
    /// Platform grants.
    pub grants: Arc<dyn GrantStore>,
    /// Guilds and members.
    pub guilds: Arc<dyn GuildDirectory>,
    /// How the store is.
    pub health: Arc<dyn Health>,
    /// Sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// Sessions together with their grants.
    pub sign_ins: Arc<dyn SignIns>,
    /// Codes that were used.
    pub spent_codes: Arc<dyn SpentCodes>,
    /// Grants by name.
    pub staff: Arc<dyn StaffDirectory>,
    /// Subscriptions.
    pub subscriptions: Arc<dyn SubscriptionStore>,
    /// The team.
    pub team: Arc<dyn TeamRoster>,
    /// Clusters.
    pub telemetry: Arc<dyn BotTelemetry>,
    /// All at once.
    pub world: Arc<dyn WorldStore>,
}

impl Stores {
    /// The ports of a store that implements all of them.
    #[must_use]
    pub fn of<S>(store: &Arc<S>) -> Self
    where
        S: BlockList
            + BotTelemetry
            + ChangeFeed
            + FeedbackStore
            + GrantStore
            + GuildDirectory
            + Health
            + SessionStore
            + SignIns
            + SpentCodes
            + StaffDirectory
            + SubscriptionStore
            + TeamRoster
            + WorldStore
            + 'static,
    {
        Self {
            blocked: store.clone(),
            changes: store.clone(),
            feedback: store.clone(),
            grants: store.clone(),
            guilds: store.clone(),
            health: store.clone(),
            sessions: store.clone(),
            sign_ins: store.clone(),
            spent_codes: store.clone(),
            staff: store.clone(),
            subscriptions: store.clone(),
            team: store.clone(),
            telemetry: store.clone(),
            world: store.clone(),
        }
    }
}

/// Makes one test of every behaviour of every storage port, and of what holds between them. Takes an expression that
/// gives a fresh `Fresh<Stores>`; it may wait.
#[macro_export]
macro_rules! storage_conformance {
    ($fresh:expr $(,)?) => {
        async fn storage() -> $crate::conformance::Fresh<$crate::conformance::Stores> {
            $fresh
        }

        $crate::block_list_conformance!(storage().await.port(|stores| &stores.blocked));
        $crate::bot_telemetry_conformance!(storage().await.port(|stores| &stores.telemetry));
        $crate::change_feed_conformance!(storage().await);
        $crate::feedback_store_conformance!(storage().await.port(|stores| &stores.feedback));
        $crate::grant_store_conformance!(storage().await.port(|stores| &stores.grants));
        $crate::guild_directory_conformance!(storage().await.port(|stores| &stores.guilds));
        $crate::health_conformance!(storage().await.port(|stores| &stores.health));
        $crate::session_store_conformance!(storage().await.port(|stores| &stores.sessions));
        $crate::sessions_and_grants_conformance!(storage().await);
        $crate::sign_ins_conformance!(storage().await);
        $crate::spent_codes_conformance!(storage().await.port(|stores| &stores.spent_codes));
        $crate::staff_directory_conformance!(storage().await.port(|stores| &stores.staff));
        $crate::subscription_store_conformance!(storage().await.port(|stores| &stores.subscriptions));
        $crate::team_roster_conformance!(storage().await.port(|stores| &stores.team));
        $crate::world_store_conformance!(storage().await);
    };
}

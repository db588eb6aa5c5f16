//! All ports in one struct, all storage ports in another, and listings of ports that read from outside of the store.

use super::{
    BlockList, BotTelemetry, ChangeFeed, Clock, Entropy, FeedbackStore, GrantStore, GuildDirectory, Health,
    IdentityProvider, Listing, ListingScope, Listings, Records, Scheduler, SessionStore, SettingsStore,
    SignIns, SpentCodes, StatusHistory, StoreError, StoreErrorKind, TeamRoster, Vault,
};
use crate::{change::Kind, model::UserId};
use async_trait::async_trait;
use std::{collections::BTreeSet, sync::Arc};

/// Everything that the use cases need from outside. Each port can be replaced alone.
#[derive(Clone)]
pub struct Ports {
    /// All storage ports.
    pub stores: Stores,
    /// The platform as identity provider.
    pub identity: Arc<dyn IdentityProvider>,
    /// Seals and opens secrets.
    pub vault: Arc<dyn Vault>,
    /// The time of day and monotonic time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Background work.
    pub scheduler: Arc<dyn Scheduler>,
}

/// Declares the storage ports, each with its handle.
macro_rules! stores {
    ($($(#[$doc:meta])+ $field:ident: $port:ident,)+) => {
        /// One handle per storage port, all of one store. A `with_…` method replaces a read port by one outside of the
        /// store. Its results are never cached, and the use cases reject writes of its kind.
        #[derive(Clone)]
        pub struct Stores {
            $($(#[$doc])+ pub $field: Arc<dyn $port>,)+
            elsewhere: BTreeSet<Kind>,
        }

        impl Stores {
            /// Uses one store for every port.
            #[must_use]
            pub fn of<S: $($port +)+ 'static>(store: &Arc<S>) -> Self {
                Self { $($field: store.clone(),)+ elsewhere: BTreeSet::new() }
            }
        }
    };
}

stores! {
    /// Blocked users.
    blocked: BlockList,
    /// The history of changes.
    changes: ChangeFeed,
    /// Feedback.
    feedback: FeedbackStore,
    /// Grants of the platform.
    grants: GrantStore,
    /// Guilds and members.
    guilds: GuildDirectory,
    /// The state of the store.
    health: Health,
    /// The stored parts of listings. Use cases read [`listings`](Self::listings).
    stored_listings: Listings,
    /// Everything that the bot feeds.
    records: Records,
    /// Sessions.
    sessions: SessionStore,
    /// The schema, settings of guilds and their history.
    settings: SettingsStore,
    /// Sessions together with their grants.
    sign_ins: SignIns,
    /// Used sign-in codes.
    spent_codes: SpentCodes,
    /// The bot's history, and notices.
    status_history: StatusHistory,
    /// The team.
    team: TeamRoster,
    /// Reports of the bot.
    telemetry: BotTelemetry,
}

impl Stores {
    /// Reads the team from this port.
    #[must_use]
    pub fn with_team(self, team: Arc<dyn TeamRoster>) -> Self {
        Self { team, ..self }.without([Kind::Team])
    }

    /// Reads feedback from this port.
    #[must_use]
    pub fn with_feedback(self, feedback: Arc<dyn FeedbackStore>) -> Self {
        Self { feedback, ..self }.without([Kind::Feedback])
    }

    /// Reads the reports of the bot's clusters from this port.
    #[must_use]
    pub fn with_telemetry(self, telemetry: Arc<dyn BotTelemetry>) -> Self {
        Self { telemetry, ..self }.without([Kind::Cluster])
    }

    /// Reads blocks from this port.
    #[must_use]
    pub fn with_blocked(self, blocked: Arc<dyn BlockList>) -> Self {
        Self { blocked, ..self }.without([Kind::Blocked])
    }

    /// Reads guilds and the roles of their members from this port. Outlines, which belong to a stored guild, are not kept.
    #[must_use]
    pub fn with_guilds(self, guilds: Arc<dyn GuildDirectory>) -> Self {
        Self { guilds, ..self }.without([Kind::Guild, Kind::Member, Kind::Outline])
    }

    fn without<const N: usize>(mut self, kinds: [Kind; N]) -> Self {
        self.elsewhere.extend(kinds);
        self
    }

    /// Returns the kinds that are read from outside of the store, and therefore never cached.
    #[must_use]
    pub const fn kept_elsewhere(&self) -> &BTreeSet<Kind> {
        &self.elsewhere
    }

    /// Returns the port for listings, which reads external kinds from their own ports.
    #[must_use]
    pub fn listings(&self) -> Arc<dyn Listings> {
        let here = |kind| !self.elsewhere.contains(&kind);
        if here(Kind::Blocked) && here(Kind::Guild) {
            return Arc::clone(&self.stored_listings);
        }
        Arc::new(ListingsFromElsewhere {
            stored: Arc::clone(&self.stored_listings),
            blocked: Arc::clone(&self.blocked),
            guilds: Arc::clone(&self.guilds),
        })
    }
}

/// Listings with blocks and guilds from external ports, which are called each time. They are neither cached nor one snapshot.
pub(super) struct ListingsFromElsewhere {
    pub(super) stored: Arc<dyn Listings>,
    pub(super) blocked: Arc<dyn BlockList>,
    pub(super) guilds: Arc<dyn GuildDirectory>,
}

#[async_trait]
impl Listings for ListingsFromElsewhere {
    async fn read(&self, user: UserId, asked: ListingScope) -> Result<Arc<Listing>, StoreError> {
        let blocked = self.blocked.is_blocked(user).await?;
        let stored = match self.stored.read(user, asked).await {
            // The block alone decides.
            Err(error) if blocked && error.kind == StoreErrorKind::Corrupt => Arc::default(),
            read => read?,
        };
        let guilds = self.guilds.with_roles(user, &asked.guilds(stored.grant.as_ref())).await?;
        Ok(Arc::new(Listing { blocked, guilds, ..Listing::clone(&stored) }))
    }
}

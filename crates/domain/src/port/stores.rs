//! Every port, in one struct each for storage and for all.

use super::{
    BlockList, BotTelemetry, ChangeFeed, Clock, Entropy, FeedbackStore, GrantStore, GuildDirectory, Health,
    IdentityProvider, Listings, Records, Scheduler, SessionStore, SignIns, SpentCodes, TeamRoster, Vault,
    elsewhere::{ListingsFromElsewhere, RecordsKeptElsewhere},
};
use crate::change::Kind;
use std::{collections::BTreeSet, sync::Arc};

/// Everything that the use cases ask of the world. Each port can be replaced alone.
#[derive(Clone)]
pub struct Ports {
    /// Where everything is kept.
    pub stores: Stores,
    /// The platform, which knows who users are.
    pub identity: Arc<dyn IdentityProvider>,
    /// Seals and opens.
    pub vault: Arc<dyn Vault>,
    /// The time of day and monotonic time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Work beside the requests.
    pub scheduler: Arc<dyn Scheduler>,
}

/// One handle per storage port, all of one store. A port that reads is exchanged for one outside of the store by a
/// `with_…` method: what that returns is never cached, and feeding its kind is refused.
#[derive(Clone)]
pub struct Stores {
    /// Blocked users.
    pub blocked: Arc<dyn BlockList>,
    /// The history of changes.
    pub changes: Arc<dyn ChangeFeed>,
    /// Feedback.
    pub feedback: Arc<dyn FeedbackStore>,
    /// Grants of the platform.
    pub grants: Arc<dyn GrantStore>,
    /// Guilds and members.
    pub guilds: Arc<dyn GuildDirectory>,
    /// How the store is.
    pub health: Arc<dyn Health>,
    /// All that the store has of what a user's listing is made of. Use cases read [`listings`](Self::listings).
    pub stored_listings: Arc<dyn Listings>,
    /// All that the bot feeds.
    pub records: Arc<dyn Records>,
    /// Sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// Sessions together with their grants.
    pub sign_ins: Arc<dyn SignIns>,
    /// Codes that were used.
    pub spent_codes: Arc<dyn SpentCodes>,
    /// The team.
    pub team: Arc<dyn TeamRoster>,
    /// Reports of the bot.
    pub telemetry: Arc<dyn BotTelemetry>,
    elsewhere: BTreeSet<Kind>,
}

impl Stores {
    /// One store behind every port.
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
            + Listings
            + Records
            + SessionStore
            + SignIns
            + SpentCodes
            + TeamRoster
            + 'static,
    {
        Self {
            blocked: store.clone(),
            changes: store.clone(),
            feedback: store.clone(),
            grants: store.clone(),
            guilds: store.clone(),
            health: store.clone(),
            stored_listings: store.clone(),
            records: store.clone(),
            sessions: store.clone(),
            sign_ins: store.clone(),
            spent_codes: store.clone(),
            team: store.clone(),
            telemetry: store.clone(),
            elsewhere: BTreeSet::new(),
        }
    }

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

    /// Asks this port who is blocked.
    #[must_use]
    pub fn with_blocked(self, blocked: Arc<dyn BlockList>) -> Self {
        Self { blocked, ..self }.without([Kind::Blocked])
    }

    /// Asks this port for guilds and the roles of their members.
    #[must_use]
    pub fn with_guilds(self, guilds: Arc<dyn GuildDirectory>) -> Self {
        Self { guilds, ..self }.without([Kind::Guild, Kind::Member])
    }

    fn without<const N: usize>(mut self, kinds: [Kind; N]) -> Self {
        self.elsewhere.extend(kinds);
        self.records = Arc::new(RecordsKeptElsewhere { stored: self.records, elsewhere: kinds.into() });
        self
    }

    /// The kinds that are read from outside of the store, and therefore never cached.
    #[must_use]
    pub const fn kept_elsewhere(&self) -> &BTreeSet<Kind> {
        &self.elsewhere
    }

    /// Everything that a user's listing is made of, with what is kept elsewhere read there.
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

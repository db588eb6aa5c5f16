//! Every port, in one struct each for storage and for all.

use super::{
    BlockList, BotTelemetry, ChangeFeed, Clock, Entropy, FeedWithOutside, FeedbackStore, GrantStore,
    GuildDirectory, Health, IdentityProvider, Listings, Outside, Scheduler, SeparateListings,
    SeparateSignIns, SessionStore, SignIns, SpentCodes, StaffDirectory, SubscriptionStore, TeamRoster, Vault,
    WorldStore, world_without::WorldWithout,
};
use crate::change::Kind;
use std::sync::Arc;

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

/// One handle per storage port. Each can be replaced alone: [`sign_ins`](Self::sign_ins) and [`listings`](Self::listings)
/// work on whatever is here.
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
    /// Listings in one step, as long as their parts are where they were.
    pub joint_listings: JointListings,
    /// Sessions together with their grants, as long as both are where they were.
    pub joint_sign_ins: JointSignIns,
    /// Sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// Codes that were used.
    pub spent_codes: Arc<dyn SpentCodes>,
    /// Grants by name.
    pub staff: Arc<dyn StaffDirectory>,
    /// Premium subscriptions.
    pub subscriptions: Arc<dyn SubscriptionStore>,
    /// The team.
    pub team: Arc<dyn TeamRoster>,
    /// Reports of the bot.
    pub telemetry: Arc<dyn BotTelemetry>,
    /// All of the feed at once.
    pub world: Arc<dyn WorldStore>,
}

/// Listings in one step, over several ports of the same store.
#[derive(Clone)]
pub struct JointListings {
    listings: Arc<dyn Listings>,
    parts: SeparateListings,
}

/// Sign-ins in one step, over two ports of the same store.
#[derive(Clone)]
pub struct JointSignIns {
    sign_ins: Arc<dyn SignIns>,
    parts: SeparateSignIns,
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
            joint_listings: JointListings {
                listings: store.clone(),
                parts: SeparateListings {
                    blocked: store.clone(),
                    grants: store.clone(),
                    guilds: store.clone(),
                    subscriptions: store.clone(),
                    staff: store.clone(),
                },
            },
            joint_sign_ins: JointSignIns {
                sign_ins: store.clone(),
                parts: SeparateSignIns { sessions: store.clone(), grants: store.clone() },
            },
            sessions: store.clone(),
            spent_codes: store.clone(),
            staff: store.clone(),
            subscriptions: store.clone(),
            team: store.clone(),
            telemetry: store.clone(),
            world: store.clone(),
        }
    }

    /// Sessions together with their grants: in one step where one store has both, otherwise in two.
    #[must_use]
    pub fn sign_ins(&self) -> Arc<dyn SignIns> {
        let (JointSignIns { sign_ins, parts }, here) = (&self.joint_sign_ins, self.parts_of_sign_ins());
        if parts.are(&here) { Arc::clone(sign_ins) } else { Arc::new(here) }
    }

    /// Everything that a user's listing is made of: in one step where one store has all of it, otherwise in several.
    #[must_use]
    pub fn listings(&self) -> Arc<dyn Listings> {
        let (JointListings { listings, parts }, here) = (&self.joint_listings, self.parts_of_listings());
        if parts.are(&here) { Arc::clone(listings) } else { Arc::new(here) }
    }

    /// Says that things of this kind are kept outside of the store, by a port that was exchanged for one. Whenever that has
    /// changed, the feed tells of it, so that no copy of it lasts; and a sync that brings or replaces the kind is refused,
    /// because it would change what nobody reads.
    pub fn keep_outside(&mut self, kind: Kind, outside: Arc<dyn Outside>) {
        self.changes = Arc::new(FeedWithOutside::new(Arc::clone(&self.changes), kind, outside));
        self.world = Arc::new(WorldWithout { world: Arc::clone(&self.world), kind });
    }

    /// Leaves listings to a port that reads from the stores that are here now.
    pub fn join_listings(&mut self, listings: Arc<dyn Listings>) {
        self.joint_listings = JointListings { listings, parts: self.parts_of_listings() };
    }

    fn parts_of_listings(&self) -> SeparateListings {
        SeparateListings {
            blocked: Arc::clone(&self.blocked),
            grants: Arc::clone(&self.grants),
            guilds: Arc::clone(&self.guilds),
            subscriptions: Arc::clone(&self.subscriptions),
            staff: Arc::clone(&self.staff),
        }
    }

    /// Leaves sign-ins to a port that writes to the sessions and grants that are here now.
    pub fn join_sign_ins(&mut self, sign_ins: Arc<dyn SignIns>) {
        self.joint_sign_ins = JointSignIns { sign_ins, parts: self.parts_of_sign_ins() };
    }

    fn parts_of_sign_ins(&self) -> SeparateSignIns {
        SeparateSignIns { sessions: Arc::clone(&self.sessions), grants: Arc::clone(&self.grants) }
    }
}

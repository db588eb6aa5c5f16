//! Cache entries of sessions, guilds and listings.

use crate::weight;
use companion_domain::{
    model::{Guild, GuildId, Subscription, Timestamp, UserId},
    port::Listing,
    session::{Session, TokenHash, UserAgent},
};
use std::{
    mem::size_of,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Marks a shared entry as invalidated. It is never reset.
#[derive(Debug, Default)]
pub(crate) struct Stale(AtomicBool);

impl Stale {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A session without its id, which is the key of the entry.
#[derive(Debug, Clone)]
pub(crate) struct SessionEntry {
    user: UserId,
    created_at: Timestamp,
    last_seen_at: Timestamp,
    user_agent: Option<UserAgent>,
}

impl SessionEntry {
    pub(crate) fn weight(&self) -> usize {
        let user_agent =
            self.user_agent.as_ref().map_or(0, |agent| agent.as_str().len() + 2 * size_of::<usize>());
        size_of::<Self>() + size_of::<TokenHash>() + weight::ENTRY + user_agent
    }

    pub(crate) fn of(session: &Session) -> Self {
        let Session { user, created_at, last_seen_at, user_agent, .. } = session.clone();
        Self { user, created_at, last_seen_at, user_agent }
    }

    pub(crate) fn session(self, id: TokenHash) -> Session {
        let Self { user, created_at, last_seen_at, user_agent } = self;
        Session { id, user, created_at, last_seen_at, user_agent }
    }
}

/// The part of a guild that all listings with it share.
#[derive(Debug)]
pub(crate) struct GuildEntry {
    pub(crate) id: GuildId,
    /// `None` if the guild does not have the bot, which is the case for most.
    pub(crate) guild: Option<Arc<Guild>>,
    /// The subscriptions that name the guild.
    pub(crate) guild_subscriptions: Box<[Arc<Subscription>]>,
    pub(crate) stale: Stale,
    weight: usize,
}

impl GuildEntry {
    pub(crate) fn new(
        id: GuildId,
        guild: Option<Arc<Guild>>,
        guild_subscriptions: Box<[Arc<Subscription>]>,
    ) -> Self {
        let subscriptions: usize = guild_subscriptions
            .iter()
            .map(|guild_subscriptions| weight::subscription(guild_subscriptions))
            .sum();
        let weight =
            size_of::<Self>() + weight::ENTRY + guild.as_deref().map_or(0, weight::guild) + subscriptions;
        Self { id, guild, guild_subscriptions, stale: Stale::default(), weight }
    }

    pub(crate) fn has_same_content(&self, other: &Self) -> bool {
        self.guild == other.guild && self.guild_subscriptions == other.guild_subscriptions
    }

    pub(crate) const fn weight(&self) -> usize {
        self.weight
    }
}

/// A listing as it was read in one step, and the guilds it shares with other listings.
#[derive(Debug)]
pub(crate) struct ListingEntry {
    pub(crate) listing: Arc<Listing>,
    pub(crate) guilds: Box<[Arc<GuildEntry>]>,
    pub(crate) stale: Stale,
    /// The epoch in which it was read.
    pub(crate) epoch: u64,
    /// Whether it was read since it was inserted.
    used: AtomicBool,
    weight: usize,
}

impl ListingEntry {
    pub(crate) fn new(listing: Arc<Listing>, guilds: Box<[Arc<GuildEntry>]>, epoch: u64) -> Self {
        let weight = size_of::<Self>()
            + weight::ENTRY
            + size_of_val(&*guilds)
            + weight::listing(&listing)
            + guilds.iter().map(share_of).sum::<usize>();
        Self { listing, guilds, stale: Stale::default(), epoch, used: AtomicBool::new(false), weight }
    }

    /// Marks the listing as used.
    pub(crate) fn note_use(&self) {
        // Usually set already. Not writing it again keeps the cache line shared between cores.
        if !self.is_used() {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// Returns whether neither the listing nor any of its guilds has been invalidated.
    pub(crate) fn is_current(&self) -> bool {
        !self.stale.is_set() && !self.guilds.iter().any(|guild| guild.stale.is_set())
    }

    /// Returns the invalidated guild if it is the only invalidated part.
    pub(crate) fn changed_guild(&self) -> Option<GuildId> {
        let mut changed = self.guilds.iter().filter(|guild| guild.stale.is_set());
        let only = changed.next().filter(|_| changed.next().is_none() && !self.stale.is_set());
        only.map(|guild| guild.id)
    }

    pub(crate) const fn weight(&self) -> usize {
        self.weight
    }
}

/// The share of a guild's weight that is charged to one listing. At least a quarter, since the other listings may be evicted.
fn share_of(guild: &Arc<GuildEntry>) -> usize {
    guild.weight() / Arc::strong_count(guild).clamp(1, 4)
}

#[cfg(test)]
mod tests {
    use crate::{
        entry::{GuildEntry, ListingEntry, SessionEntry},
        weight::{self, ENTRY},
    };
    use companion_domain::{
        model::{Guild, GuildList, GuildWithRoles, Membership, RoleBindings, Subscription},
        port::{GrantSummary, GrantVersion, Listing},
        session::{Session, TokenHash},
    };
    use companion_testkit::world::{
        a_guild, a_session, a_subscription, an_ownership, at, guild_id, name, roles,
    };
    use std::{mem::size_of, sync::Arc};

    /// Size of an id.
    const ID: usize = size_of::<u64>();

    fn a_small_guild() -> Guild {
        Guild { name: name("ab"), icon: None, bindings: RoleBindings::default(), ..a_guild(1) }
    }

    #[test]
    fn weighs_a_guild() {
        let small = weight::guild(&a_small_guild());
        assert_eq!(small, size_of::<Guild>() + 2);
        let icon = "https://cdn.example/1.png";
        let with_icon = Guild { icon: Some(icon.parse().unwrap()), ..a_small_guild() };
        assert_eq!(weight::guild(&with_icon), small + icon.len());
        let bindings = RoleBindings::new([
            ("MOD".parse().unwrap(), roles(&[1, 2])),
            ("ADMIN".parse().unwrap(), roles(&[3])),
        ]);
        assert_eq!(weight::guild(&Guild { bindings, ..a_small_guild() }), small + 2 * 48 + 3 * ID);
        let with_both = Guild { name: name("abcd"), ..with_icon };
        assert_eq!(weight::guild(&with_both), small + icon.len() + 2);
    }

    #[test]
    fn weighs_a_subscription() {
        assert_eq!(weight::subscription(&a_subscription(1, &[1, 2, 3])), size_of::<Subscription>() + 3 * ID);
    }

    #[test]
    fn weighs_a_listing() {
        let seen = |guild, role: &[u64]| GuildWithRoles {
            guild: Arc::new(a_guild(guild)),
            roles: Arc::new(roles(role)),
        };
        let empty = weight::listing(&Listing::default());
        assert_eq!(empty, size_of::<Listing>());
        let list = GuildList {
            memberships: [1, 2, 3].map(an_ownership).to_vec().into(),
            without_bot: Vec::new(),
            fetched_at: at(1),
        };
        let grant =
            GrantSummary { version: GrantVersion(1), renewable: false, list: Some(list), profile: None };
        let whole = Listing {
            grant: Some(grant),
            guilds: vec![seen(1, &[1, 2]), seen(2, &[3])],
            guild_subscriptions: vec![Arc::new(a_subscription(2, &[1]))],
            subscription: Some(Arc::new(a_subscription(1, &[1]))),
            ..Listing::default()
        };
        let parts = 3 * size_of::<Membership>()
            + 2 * size_of::<GuildWithRoles>()
            + 3 * ID
            + size_of::<Arc<Subscription>>()
            + size_of::<Subscription>()
            + ID;
        assert_eq!(weight::listing(&whole), empty + parts);
    }

    #[test]
    fn weighs_entries() {
        let session = a_session(1, 1, at(1));
        let unnamed = Session { user_agent: None, ..session };
        let small = SessionEntry::of(&unnamed).weight();
        assert_eq!(small, size_of::<SessionEntry>() + size_of::<TokenHash>() + ENTRY);
        let named = Session { user_agent: "curl/8".parse().ok(), ..session };
        assert!(named.user_agent.is_some());
        assert_eq!(SessionEntry::of(&named).weight(), small + 6 + 2 * size_of::<usize>());

        let without_bot = GuildEntry::new(guild_id(1), None, Box::default());
        assert_eq!(without_bot.weight(), size_of::<GuildEntry>() + ENTRY);
        let subscription = Arc::new(a_subscription(1, &[1]));
        let guild_subscriptions = vec![subscription.clone(), subscription.clone()].into();
        let with_bot = GuildEntry::new(guild_id(1), Some(Arc::new(a_small_guild())), guild_subscriptions);
        let parts = weight::guild(&a_small_guild()) + 2 * weight::subscription(&subscription);
        assert_eq!(with_bot.weight(), without_bot.weight() + parts);

        let empty = ListingEntry::new(Arc::default(), Box::default(), 0).weight();
        assert_eq!(empty, size_of::<ListingEntry>() + ENTRY + size_of::<Listing>());
        let charged_for = |guild: &Arc<GuildEntry>| {
            ListingEntry::new(Arc::default(), [Arc::clone(guild)].into(), 0).weight()
                - empty
                - size_of::<usize>()
        };
        let (guild, whole) = (Arc::new(with_bot), without_bot.weight() + parts);
        assert_eq!(charged_for(&guild), whole / 2, "two listings share it");
        let others = [(); 9].map(|()| Arc::clone(&guild));
        assert_eq!(charged_for(&guild), whole / 4, "never less than a quarter");
        drop(others);
    }
}

//! The copies themselves.

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

/// Says of something that is shared whether it still counts. It goes one way only.
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

/// A session without its id, by which it is kept.
#[derive(Debug, Clone)]
pub(crate) struct SessionCopy {
    user: UserId,
    created_at: Timestamp,
    last_seen_at: Timestamp,
    user_agent: Option<UserAgent>,
}

impl SessionCopy {
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

/// What is known of a guild by everyone who has it in their list, bot or no bot.
#[derive(Debug)]
pub(crate) struct GuildCopy {
    pub(crate) id: GuildId,
    /// Nothing where it does not have the bot, as most guilds do not.
    pub(crate) guild: Option<Arc<Guild>>,
    /// The subscriptions that name it.
    pub(crate) naming: Box<[Arc<Subscription>]>,
    pub(crate) stale: Stale,
    weight: usize,
}

impl GuildCopy {
    pub(crate) fn new(id: GuildId, guild: Option<Arc<Guild>>, naming: Box<[Arc<Subscription>]>) -> Self {
        let subscriptions: usize = naming.iter().map(|naming| weight::subscription(naming)).sum();
        let weight =
            size_of::<Self>() + weight::ENTRY + guild.as_deref().map_or(0, weight::guild) + subscriptions;
        Self { id, guild, naming, stale: Stale::default(), weight }
    }

    pub(crate) fn says_the_same_as(&self, other: &Self) -> bool {
        self.guild == other.guild && self.naming == other.naming
    }

    pub(crate) const fn weight(&self) -> usize {
        self.weight
    }
}

/// What a user is shown, as it was read in one step, and the guilds that it leans on.
#[derive(Debug)]
pub(crate) struct ListingCopy {
    pub(crate) listing: Arc<Listing>,
    pub(crate) guilds: Box<[Arc<GuildCopy>]>,
    pub(crate) stale: Stale,
    /// How often everything of a kind had become doubtful when it was read.
    pub(crate) doubts: u64,
    /// Whether anyone asked for it since it was made.
    used: AtomicBool,
    weight: usize,
}

impl ListingCopy {
    pub(crate) fn new(listing: Arc<Listing>, guilds: Box<[Arc<GuildCopy>]>, doubts: u64) -> Self {
        let weight = size_of::<Self>()
            + weight::ENTRY
            + size_of_val(&*guilds)
            + weight::listing(&listing)
            + guilds.iter().map(share_of).sum::<usize>();
        Self { listing, guilds, stale: Stale::default(), doubts, used: AtomicBool::new(false), weight }
    }

    /// Notes that someone asked for it.
    pub(crate) fn note_use(&self) {
        // Most find it noted, and leave the memory that they share alone.
        if !self.is_used() {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether nothing has changed that it is made of, as far as this process was told.
    pub(crate) fn is_current(&self) -> bool {
        !self.stale.is_set() && !self.guilds.iter().any(|guild| guild.stale.is_set())
    }

    /// The one guild that has changed, where nothing else has that it is made of.
    pub(crate) fn changed_guild(&self) -> Option<GuildId> {
        let mut changed = self.guilds.iter().filter(|guild| guild.stale.is_set());
        let only = changed.next().filter(|_| changed.next().is_none() && !self.stale.is_set());
        only.map(|guild| guild.id)
    }

    pub(crate) const fn weight(&self) -> usize {
        self.weight
    }
}

/// What a listing has to answer for of a guild that it leans on: all of it, or a part where others do, too. It is never less
/// than a quarter, since the others may go.
fn share_of(guild: &Arc<GuildCopy>) -> usize {
    guild.weight() / Arc::strong_count(guild).clamp(1, 4)
}

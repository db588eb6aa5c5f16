//! Cache entries of guilds and listings, and the weight of entries.

use companion_domain::{
    model::{Guild, GuildId, Membership, NamedGuild, Subscription},
    port::Listing,
    session::{Session, TokenHash},
};
use std::{
    mem::size_of,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// The part of a guild that all listings with it share.
#[derive(Debug)]
pub(crate) struct GuildEntry {
    pub(crate) id: GuildId,
    /// Written under the lock of all writers.
    content: Mutex<Content>,
    /// The subscriptions that name the guild.
    pub(crate) guild_subscriptions: Box<[Arc<Subscription>]>,
    /// Number of replacements of the content, or [`STALE`].
    version: AtomicU64,
    pub(crate) weight: usize,
    /// Upper bound of its bytes in a rendered listing, which are not shared.
    rendered_weight: usize,
}

#[derive(Debug)]
struct Content {
    /// `None` if the guild does not have the bot, which is the case for most.
    guild: Option<Arc<Guild>>,
    /// Number of the last load that read it.
    load: u64,
}

/// The version of an entry that has been invalidated. It is never reset.
const STALE: u64 = u64::MAX;

/// The state of a guild after a write of this process.
#[derive(Debug, Clone)]
pub(crate) struct Put {
    pub(crate) guild: Arc<Guild>,
    /// Number of loads that had ended when the write began. What they read is older than the write.
    pub(crate) loads: u64,
}

impl GuildEntry {
    pub(crate) fn new(
        id: GuildId,
        guild: Option<Arc<Guild>>,
        guild_subscriptions: Box<[Arc<Subscription>]>,
    ) -> Self {
        let subscriptions: usize = guild_subscriptions
            .iter()
            .map(|guild_subscriptions| weigh_subscription(guild_subscriptions))
            .sum();
        let weight = size_of::<Self>() + ENTRY + guild.as_deref().map_or(0, weigh_guild) + subscriptions;
        let rendered_weight = guild.as_deref().map_or(0, |guild| weigh_rendered(guild, &guild_subscriptions));
        let content = Mutex::new(Content { guild, load: 0 });
        Self { id, content, guild_subscriptions, version: AtomicU64::new(0), weight, rendered_weight }
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn guild(&self) -> Option<Arc<Guild>> {
        self.content().guild.clone()
    }

    /// Notes the number of a load that read this content.
    pub(crate) fn note_load(&self, load: u64) {
        self.content().load = load;
    }

    /// Replaces the guild by the state after a write. Returns `false` if a load may have read that or a later state, or if the
    /// guild did not have the bot, so that no listing has its roles.
    pub(crate) fn replace(&self, put: Put) -> bool {
        let mut content = self.content();
        let is_older = content.load <= put.loads && content.guild.is_some();
        if is_older {
            content.guild = Some(put.guild);
            self.version.fetch_add(1, Ordering::Release);
        }
        is_older
    }

    pub(crate) fn invalidate(&self) {
        self.version.store(STALE, Ordering::Release);
    }

    fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub(crate) fn is_stale(&self) -> bool {
        self.version() == STALE
    }

    pub(crate) fn has_same_content(&self, other: &Self) -> bool {
        self.guild() == other.guild() && self.guild_subscriptions == other.guild_subscriptions
    }
}

/// A listing as it was read in one step, and the guilds it shares with other listings.
#[derive(Debug)]
pub(crate) struct ListingEntry {
    pub(crate) listing: Arc<Listing>,
    /// Each with the version that the listing shows.
    guilds: Box<[(Arc<GuildEntry>, u64)]>,
    /// Number of changes after which those versions were last compared.
    compared: AtomicU64,
    pub(crate) weight: usize,
}

impl ListingEntry {
    pub(crate) fn new(listing: Arc<Listing>, guilds: Box<[Arc<GuildEntry>]>) -> Self {
        let of_guilds: usize = guilds.iter().map(|guild| share_of(guild) + guild.rendered_weight).sum();
        let shown = |guild: Arc<GuildEntry>| {
            let version = guild.version();
            (guild, version)
        };
        let guilds: Box<[_]> = guilds.into_iter().map(shown).collect();
        let weight = size_of::<Self>() + ENTRY + size_of_val(&*guilds) + weigh_listing(&listing) + of_guilds;
        Self { listing, guilds, compared: AtomicU64::new(0), weight }
    }

    /// Returns whether none of its guilds has been replaced or invalidated by the first `changes`. A listing that was itself
    /// invalidated is no entry any more.
    pub(crate) fn is_current(&self, changes: u64) -> bool {
        if self.compared.load(Ordering::Relaxed) == changes {
            return true;
        }
        let is_current = self.guilds.iter().all(|(guild, shown)| guild.version() == *shown);
        if is_current {
            self.compared.store(changes, Ordering::Relaxed);
        }
        is_current
    }

    /// Returns its guilds if none of them has been invalidated.
    pub(crate) fn guilds(&self) -> Option<Box<[Arc<GuildEntry>]>> {
        self.guilds.iter().map(|(guild, _)| (!guild.is_stale()).then(|| Arc::clone(guild))).collect()
    }
}

/// The share of a guild's weight that is charged to one listing. At least a quarter, since the other listings may be evicted.
fn share_of(guild: &Arc<GuildEntry>) -> usize {
    guild.weight / Arc::strong_count(guild).clamp(1, 4)
}

// The weights are approximate, in bytes. They drive eviction, so they need not be exact, but must cover every part that can
// grow.

/// Overhead of a table per entry: slots, links and reference counters.
pub(crate) const ENTRY: usize = 96;

pub(crate) fn weigh_session(session: &Session) -> usize {
    let user_agent = session.user_agent.as_ref();
    let user_agent = user_agent.map_or(0, |agent| agent.as_str().len() + 2 * size_of::<usize>());
    size_of::<Session>() + size_of::<TokenHash>() + ENTRY + user_agent
}

fn weigh_listing(listing: &Listing) -> usize {
    let memberships = listing.list().map_or(0, |list| list.memberships.len());
    let profile = listing.grant.as_ref().and_then(|grant| grant.profile.as_ref());
    let named = listing.list().map(|list| list.without_bot.as_slice()).unwrap_or_default();
    let named: usize = named.iter().map(weigh_named).sum();
    // Empty role sets share one allocation.
    let roles: usize = listing.guilds.iter().map(|seen| size_of_val(seen.roles.as_slice())).sum();
    size_of::<Listing>()
        + memberships * size_of::<Membership>()
        + profile.map_or(0, |profile| profile.name.as_str().len() + profile.avatar.as_str().len())
        + named
        + size_of_val(&*listing.guilds)
        + roles
        + size_of_val(&*listing.guild_subscriptions)
        + listing.subscription.as_deref().map_or(0, weigh_subscription)
}

fn weigh_guild(guild: &Guild) -> usize {
    let icon = guild.icon.as_ref().map_or(0, |icon| icon.as_str().len());
    let bindings: usize = guild.bindings.iter().map(|(_, roles)| 48 + size_of_val(roles.as_slice())).sum();
    size_of::<Guild>() + guild.name.as_str().len() + icon + bindings
}

/// Returns an upper bound of the bytes of a guild in a rendered listing, with the longest of its subscriptions.
fn weigh_rendered(guild: &Guild, subscriptions: &[Arc<Subscription>]) -> usize {
    let ids = subscriptions.iter().map(|subscription| subscription.guilds.as_slice().len()).max();
    let icon = guild.icon.as_ref().map_or(0, |icon| icon.as_str().len());
    // Its other fields are of bounded length. JSON escapes make text up to twice as long.
    1000 + 2 * (guild.name.as_str().len() + icon) + 23 * ids.unwrap_or_default()
}

fn weigh_named(named: &NamedGuild) -> usize {
    let icon = named.icon.as_ref().map_or(0, |icon| icon.as_str().len());
    size_of::<NamedGuild>() + named.name.as_str().len() + icon
}

fn weigh_subscription(subscription: &Subscription) -> usize {
    size_of::<Subscription>() + size_of_val(subscription.guilds.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_domain::{
        model::{GuildList, GuildWithRoles, RoleBindings},
        port::{GrantSummary, GrantVersion},
    };
    use companion_testkit::world::{
        a_guild, a_session, a_subscription, an_ownership, at, guild_id, name, roles,
    };

    /// Size of an id.
    const ID: usize = size_of::<u64>();

    fn a_small_guild() -> Guild {
        Guild { name: name("ab"), icon: None, bindings: RoleBindings::default(), ..a_guild(1) }
    }

    #[test]
    fn weighs_every_part_that_can_grow() {
        let icon = "https://cdn.example/1.png";
        let mods = RoleBindings::new([("MOD".parse().unwrap(), roles(&[1, 2]))]);
        for (guild, more) in [
            (a_small_guild(), 0),
            (Guild { name: name("abcd"), ..a_small_guild() }, 2),
            (Guild { icon: Some(icon.parse().unwrap()), ..a_small_guild() }, icon.len()),
            (Guild { bindings: mods, ..a_small_guild() }, 48 + 2 * ID),
        ] {
            assert_eq!(weigh_guild(&guild), size_of::<Guild>() + 2 + more);
        }
        // What a rendered guild weighs is compared with a response by the tests of the program.
        let subscription = Arc::new(a_subscription(1, &[1, 2, 3]));
        assert_eq!(weigh_subscription(&subscription), size_of::<Subscription>() + 3 * ID);
        let memberships = [1, 2, 3].map(an_ownership).to_vec().into();
        let list = Some(GuildList { memberships, without_bot: Vec::new(), fetched_at: at(1) });
        let grant = GrantSummary { version: GrantVersion(1), renewable: false, list, profile: None };
        let seen = GuildWithRoles { guild: Arc::new(a_guild(1)), roles: Arc::new(roles(&[1, 2])) };
        let empty = Listing::default;
        for (listing, more) in [
            (empty(), 0),
            (Listing { grant: Some(grant), ..empty() }, 3 * size_of::<Membership>()),
            (Listing { guilds: vec![seen], ..empty() }, size_of::<GuildWithRoles>() + 2 * ID),
            (Listing { guild_subscriptions: vec![subscription.clone()], ..empty() }, size_of::<usize>()),
            (
                Listing { subscription: Some(subscription.clone()), ..empty() },
                weigh_subscription(&subscription),
            ),
        ] {
            assert_eq!(weigh_listing(&listing), size_of::<Listing>() + more);
        }
        let session = a_session(1, 1, at(1));
        for (user_agent, more) in [(None, 0), (Some("curl/8"), 6 + 2 * size_of::<usize>())] {
            let user_agent = user_agent.map(|agent| agent.parse().unwrap());
            let weight = weigh_session(&Session { user_agent, ..session.clone() });
            assert_eq!(weight, size_of::<Session>() + size_of::<TokenHash>() + ENTRY + more);
        }
    }

    #[test]
    fn charges_a_shared_guild_to_up_to_four_listings() {
        let without_bot = GuildEntry::new(guild_id(1), None, Box::default());
        assert_eq!(without_bot.weight, size_of::<GuildEntry>() + ENTRY);
        let subscription = Arc::new(a_subscription(1, &[1]));
        let guild =
            GuildEntry::new(guild_id(1), Some(Arc::new(a_small_guild())), [subscription.clone()].into());
        let whole = guild.weight;
        let parts = weigh_guild(&a_small_guild()) + weigh_subscription(&subscription);
        assert_eq!(whole, without_bot.weight + parts);
        let empty = ListingEntry::new(Arc::default(), Box::default()).weight;
        assert_eq!(empty, size_of::<ListingEntry>() + ENTRY + size_of::<Listing>());
        let charged_for = |guild: &Arc<GuildEntry>| {
            let entry = ListingEntry::new(Arc::default(), [Arc::clone(guild)].into());
            entry.weight - empty - size_of::<(Arc<GuildEntry>, u64)>() - guild.rendered_weight
        };
        let guild = Arc::new(guild);
        assert_eq!(charged_for(&guild), whole / 2, "two listings share it");
        let others = [(); 9].map(|()| Arc::clone(&guild));
        assert_eq!(charged_for(&guild), whole / 4, "never less than a quarter");
        drop(others);
    }
}

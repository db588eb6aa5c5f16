//! Interning of the parts that listings share: a guild that is in several lists is in memory once.

use crate::entry::GuildEntry;
use companion_domain::{
    model::{GuildId, GuildWithRoles, RoleSet, Subscription, UserId},
    port::{Listing, ListingScope},
};
use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

/// Shared by all members without a role that the bot knows, which are most.
static NO_ROLES: LazyLock<Arc<RoleSet>> = LazyLock::new(Arc::default);

/// The guilds of a user's list, including those without the bot.
pub(crate) struct Parts<'a> {
    ids: Vec<GuildId>,
    seen: HashMap<GuildId, &'a GuildWithRoles>,
    guild_subscriptions: HashMap<GuildId, Vec<&'a Arc<Subscription>>>,
    subscribers: &'a [Arc<Subscription>],
}

impl<'a> Parts<'a> {
    pub(crate) fn of(listing: &'a Listing) -> Self {
        let mut ids = ListingScope::List.guilds(listing.grant.as_ref());
        ids.sort_unstable();
        ids.dedup();
        let seen = listing.guilds.iter().map(|seen| (seen.guild.id, seen)).collect();
        let mut guild_subscriptions: HashMap<_, Vec<_>> = HashMap::new();
        for subscription in &listing.guild_subscriptions {
            for guild in subscription.guilds.as_slice() {
                guild_subscriptions.entry(*guild).or_default().push(subscription);
            }
        }
        for named in guild_subscriptions.values_mut() {
            named.sort_unstable_by_key(|subscription| subscription.user);
        }
        Self { ids, seen, guild_subscriptions, subscribers: &listing.guild_subscriptions }
    }

    pub(crate) fn has_guild(&self, guild: GuildId) -> bool {
        self.ids.binary_search(&guild).is_ok()
    }

    pub(crate) fn has_subscriber(&self, user: UserId) -> bool {
        self.subscribers.iter().any(|subscription| subscription.user == user)
    }

    /// Returns an entry for each guild.
    pub(crate) fn iter(&self) -> impl Iterator<Item = GuildEntry> {
        self.ids.iter().map(|id| {
            let guild = self.seen.get(id).map(|seen| Arc::clone(&seen.guild));
            let guild_subscriptions =
                self.guild_subscriptions.get(id).into_iter().flatten().copied().cloned().collect();
            GuildEntry::new(*id, guild, guild_subscriptions)
        })
    }

    /// Returns the listing over the shared guilds `kept`, which are in the order of [`Parts::iter`].
    pub(crate) fn share(&self, listing: &Listing, kept: &[Arc<GuildEntry>]) -> Listing {
        let kept_of = |id: &GuildId| self.ids.binary_search(id).ok().and_then(|index| kept.get(index));
        let shared = |seen: &GuildWithRoles| GuildWithRoles {
            guild: kept_of(&seen.guild.id)
                .and_then(|kept| kept.guild.clone())
                .unwrap_or_else(|| Arc::clone(&seen.guild)),
            roles: if seen.roles.is_empty() { Arc::clone(&NO_ROLES) } else { Arc::clone(&seen.roles) },
        };
        let subscription = |named: &Arc<Subscription>| {
            let mut kept =
                named.guilds.as_slice().iter().filter_map(kept_of).flat_map(|kept| &kept.guild_subscriptions);
            Arc::clone(kept.find(|kept| *kept == named).unwrap_or(named))
        };
        let guilds = listing.guilds.iter().map(shared).collect();
        let guild_subscriptions = listing.guild_subscriptions.iter().map(subscription).collect();
        Listing { guilds, guild_subscriptions, ..listing.clone() }
    }
}

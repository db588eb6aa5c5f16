//! Approximate memory use of entries, in bytes. It drives eviction, so it need not be exact, but it must cover every
//! part that can grow.

use companion_domain::{
    model::{Guild, Membership, NamedGuild, Subscription},
    port::Listing,
    session::{Session, TokenHash},
};
use std::mem::size_of;

/// Overhead of a table per entry: slots, links and reference counters.
pub(crate) const ENTRY: usize = 96;

pub(crate) fn session(session: &Session) -> usize {
    let user_agent = session.user_agent.as_ref();
    let user_agent = user_agent.map_or(0, |agent| agent.as_str().len() + 2 * size_of::<usize>());
    size_of::<Session>() + size_of::<TokenHash>() + ENTRY + user_agent
}

pub(crate) fn listing(listing: &Listing) -> usize {
    let memberships = listing.list().map_or(0, |list| list.memberships.len());
    let profile = listing.grant.as_ref().and_then(|grant| grant.profile.as_ref());
    let named = listing.list().map(|list| list.without_bot.as_slice()).unwrap_or_default();
    let named: usize = named.iter().map(named_guild).sum();
    // Empty role sets share one allocation.
    let roles: usize = listing.guilds.iter().map(|seen| size_of_val(seen.roles.as_slice())).sum();
    size_of::<Listing>()
        + memberships * size_of::<Membership>()
        + profile.map_or(0, |profile| profile.name.as_str().len() + profile.avatar.as_str().len())
        + named
        + size_of_val(&*listing.guilds)
        + roles
        + size_of_val(&*listing.guild_subscriptions)
        + listing.subscription.as_deref().map_or(0, subscription)
}

pub(crate) fn guild(guild: &Guild) -> usize {
    let icon = guild.icon.as_ref().map_or(0, |icon| icon.as_str().len());
    let bindings: usize = guild.bindings.iter().map(|(_, roles)| 48 + size_of_val(roles.as_slice())).sum();
    size_of::<Guild>() + guild.name.as_str().len() + icon + bindings
}

fn named_guild(named: &NamedGuild) -> usize {
    let icon = named.icon.as_ref().map_or(0, |icon| icon.as_str().len());
    size_of::<NamedGuild>() + named.name.as_str().len() + icon
}

pub(crate) fn subscription(subscription: &Subscription) -> usize {
    size_of::<Subscription>() + size_of_val(subscription.guilds.as_slice())
}

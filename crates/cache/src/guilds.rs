//! Guilds shared between listings. Each is in memory once, as long as a listing refers to it.

use crate::{
    entries::CacheStatistics,
    entry::{GuildEntry, Put},
};
use companion_domain::{
    model::{GuildId, GuildWithRoles, RoleSet, Subscription},
    port::{Listing, ListingScope},
};
use std::{
    collections::HashMap,
    sync::{
        Arc, LazyLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

/// Shared by all members without a role that the bot knows, which are most.
static NO_ROLES: LazyLock<Arc<RoleSet>> = LazyLock::new(Arc::default);

/// Dead references are swept when their number has doubled since the last sweep, and not below this size.
const MIN_SWEEP: usize = 1024;

/// Weak references to guilds by id. The listings own the guilds.
#[derive(Default)]
pub(crate) struct SharedGuilds {
    by_id: HashMap<GuildId, Weak<GuildEntry>>,
    /// Number of replacements and invalidations of guilds. Readers compare versions only after more of them.
    pub(crate) changes: Arc<AtomicU64>,
    /// Number of live guilds after the last sweep.
    needed: usize,
    hits: u64,
    misses: u64,
}

impl SharedGuilds {
    /// Returns the shared guild if its content is equal. Otherwise replaces it by `guild`, which the load of this number read.
    pub(crate) fn share(&mut self, guild: GuildEntry, load: u64) -> Arc<GuildEntry> {
        if let Some(current) = self.by_id.get(&guild.id).and_then(Weak::upgrade) {
            if current.has_same_content(&guild) && !current.is_stale() {
                self.hits += 1;
                current.note_load(load);
                return current;
            }
            self.invalidate(&current);
        }
        self.misses += 1;
        guild.note_load(load);
        let guild = Arc::new(guild);
        self.by_id.insert(guild.id, Arc::downgrade(&guild));
        if self.by_id.len() > MIN_SWEEP.max(self.needed * 2) {
            self.by_id.retain(|_, guild| guild.strong_count() > 0);
            self.needed = self.by_id.len();
        }
        guild
    }

    /// Shows the state after a write of this process, or invalidates the guild if that may not be the newest.
    pub(crate) fn put(&mut self, id: GuildId, put: Put) {
        let entry = self.by_id.get(&id).and_then(Weak::upgrade);
        if entry.is_some_and(|entry| entry.replace(put)) {
            self.note_change();
        } else {
            self.drop_one(id);
        }
    }

    /// Invalidates a guild.
    pub(crate) fn drop_one(&mut self, id: GuildId) {
        if let Some(guild) = self.by_id.remove(&id).and_then(|guild| guild.upgrade()) {
            self.invalidate(&guild);
        }
    }

    /// Invalidates every guild.
    pub(crate) fn drop_all(&mut self) {
        let guilds = std::mem::take(&mut self.by_id);
        guilds.into_values().filter_map(|guild| guild.upgrade()).for_each(|guild| self.invalidate(&guild));
    }

    fn invalidate(&self, guild: &GuildEntry) {
        guild.invalidate();
        self.note_change();
    }

    /// Counts a change that has been made. The other order would let a reader miss it.
    fn note_change(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn statistics(&self) -> CacheStatistics {
        let live = || self.by_id.values().filter_map(Weak::upgrade);
        let (entries, bytes) = (live().count() as u64, live().map(|guild| guild.weight as u64).sum());
        CacheStatistics { name: "guilds", entries, bytes, hits: self.hits, misses: self.misses }
    }
}

/// Returns an entry for each guild of a user's list, including those without the bot, ordered by id.
pub(crate) fn guilds_of(listing: &Listing) -> Vec<GuildEntry> {
    let mut ids = ListingScope::List.guilds(listing.grant.as_ref());
    ids.sort_unstable();
    ids.dedup();
    let seen: HashMap<_, _> = listing.guilds.iter().map(|seen| (seen.guild.id, &seen.guild)).collect();
    let mut naming: HashMap<_, Vec<_>> = HashMap::new();
    for subscription in &listing.guild_subscriptions {
        for guild in subscription.guilds.as_slice() {
            naming.entry(*guild).or_default().push(subscription);
        }
    }
    let entry = |id| {
        let mut named = naming.remove(&id).unwrap_or_default();
        named.sort_unstable_by_key(|subscription| subscription.user);
        GuildEntry::new(id, seen.get(&id).copied().cloned(), named.into_iter().cloned().collect())
    };
    ids.into_iter().map(entry).collect()
}

/// Returns the listing over shared guilds, which are those of [`guilds_of`] in their order.
pub(crate) fn sharing(listing: &Listing, kept: &[Arc<GuildEntry>]) -> Listing {
    let kept_of = |id: &GuildId| {
        let index = kept.binary_search_by_key(id, |kept| kept.id).ok()?;
        kept.get(index)
    };
    let shared = |seen: &GuildWithRoles| GuildWithRoles {
        guild: kept_of(&seen.guild.id)
            .and_then(|kept| kept.guild())
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

#[cfg(test)]
mod tests {
    use super::*;
    use companion_domain::model::Guild;
    use companion_testkit::world::{a_guild, guild_id, name};

    fn guild(number: u64) -> GuildEntry {
        GuildEntry::new(guild_id(number), Some(Arc::new(a_guild(number))), [].into())
    }

    /// Shares a guild that was read by the fifth load.
    fn share(guilds: &mut SharedGuilds, number: u64) -> Arc<GuildEntry> {
        guilds.share(guild(number), 5)
    }

    #[test]
    fn puts_only_over_what_was_read_before() {
        let renamed = Arc::new(Guild { name: name("Renamed"), ..a_guild(1) });
        for (loads, is_shown) in [(5, true), (4, false)] {
            let mut guilds = SharedGuilds::default();
            let shared = share(&mut guilds, 1);
            guilds.put(guild_id(1), Put { guild: renamed.clone(), loads });
            assert_eq!((shared.guild().as_ref() == Some(&renamed), !shared.is_stale()), (is_shown, is_shown));
        }
        let mut guilds = SharedGuilds::default();
        let first = share(&mut guilds, 1);
        assert!(Arc::ptr_eq(&first, &guilds.share(guild(1), 6)));
        guilds.put(guild_id(1), Put { guild: renamed.clone(), loads: 5 });
        assert!(first.is_stale(), "the sixth load may have read the same guild after the write");
        let without_bot = guilds.share(GuildEntry::new(guild_id(1), None, [].into()), 7);
        guilds.put(guild_id(1), Put { guild: renamed, loads: 7 });
        assert!(without_bot.is_stale(), "its roles are not known");
    }

    #[test]
    fn shares_a_guild_until_it_changes() {
        let mut guilds = SharedGuilds::default();
        let (one, other) = (share(&mut guilds, 1), share(&mut guilds, 1));
        assert!(Arc::ptr_eq(&one, &other));
        let CacheStatistics { entries, hits, misses, .. } = guilds.statistics();
        assert_eq!((entries, hits, misses), (1, 1, 1));
        let changed = guilds.share(GuildEntry::new(guild_id(1), None, [].into()), 5);
        assert!(one.is_stale() && !changed.is_stale());
        guilds.drop_one(guild_id(1));
        assert!(changed.is_stale());
    }

    #[test]
    fn keeps_referenced_guilds_and_forgets_the_rest() {
        let mut guilds = SharedGuilds::default();
        let needed: Vec<_> = (1..=10).map(|number| share(&mut guilds, number)).collect();
        for number in 11..20_000 {
            share(&mut guilds, number);
        }
        assert!(guilds.by_id.len() <= MIN_SWEEP, "{} are left", guilds.by_id.len());
        assert_eq!(guilds.statistics().entries, 10);
        for (number, needed) in (1..).zip(&needed) {
            assert!(Arc::ptr_eq(needed, &share(&mut guilds, number)));
        }
        guilds.drop_all();
        assert!(needed.iter().all(|guild| guild.is_stale()));
    }
}

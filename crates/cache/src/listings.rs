//! The `Listings` port behind the cache. Each entry was read in one step, so no answer mixes old and new state.

use crate::{
    entries::Entries,
    sessions::{load_aborted, second_poll},
    trust::Trust,
};
use async_trait::async_trait;
use companion_domain::{
    model::{GuildId, UserId},
    port::{Listing, ListingScope, Listings, StoreError},
    usecase::{SingleFlight, timeout},
};
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

/// How long a partial reload waits for the feed to confirm that nothing else changed. Then the whole listing is read.
const CATCH_UP_TIMEOUT: Duration = Duration::from_millis(50);

/// The `Listings` port over cached entries.
pub(crate) struct CachedListings {
    pub(crate) reader: Reader,
    pub(crate) loads: Loads,
}

/// Reads listings from the store and inserts them.
#[derive(Clone)]
pub(crate) struct Reader {
    pub(crate) inner: Arc<dyn Listings>,
    pub(crate) entries: Arc<Entries>,
    pub(crate) trust: Trust,
}

impl Reader {
    async fn read(&self, user: UserId) -> Result<Arc<Listing>, StoreError> {
        let position = self.entries.position();
        let listing = self.inner.read(user, ListingScope::List).await?;
        Ok(self.entries.insert_listing(user, listing, position))
    }

    /// Reads only the guild that has changed since the rest was read. Changes of the same atomic step are delivered
    /// by the time the feed has been polled again. If none of them touches the rest, the listing is consistent.
    async fn reload_guild(
        &self,
        user: UserId,
        (listing, guild): (Arc<Listing>, GuildId),
        position: u64,
    ) -> Option<Arc<Listing>> {
        let stored = self.inner.read(user, ListingScope::Guild(guild)).await.ok()?;
        let listing = merged(&listing, guild, &stored)?;
        let Trust { dispatcher, scheduler, .. } = &self.trust;
        timeout(&**scheduler, CATCH_UP_TIMEOUT, dispatcher.catch_up()).await?.ok()?;
        self.entries.insert_unless_invalidated(user, &listing, position)
    }
}

type Loads = SingleFlight<(UserId, u64), Result<Arc<Listing>, StoreError>>;

impl CachedListings {
    async fn load(&self, user: UserId) -> Result<Arc<Listing>, StoreError> {
        second_poll().await;
        let (position, changed) = self.reader.entries.begin_load(user);
        let reader = self.reader.clone();
        let load = async move {
            reader.entries.listing_loads.fetch_add(1, Relaxed);
            if let Some(changed) = changed
                && let Some(listing) = reader.reload_guild(user, changed, position).await
            {
                return Ok(listing);
            }
            reader.read(user).await
        };
        // The position in the key keeps a request that begins after a change from joining a load that began before it.
        let loaded = self.loads.join(&*self.reader.trust.scheduler, (user, position), load).await;
        loaded.unwrap_or_else(|| Err(load_aborted()))
    }
}

#[async_trait]
impl Listings for CachedListings {
    async fn read(&self, user: UserId, asked: ListingScope) -> Result<Arc<Listing>, StoreError> {
        if asked != ListingScope::List {
            return self.reader.inner.read(user, asked).await;
        }
        self.reader.trust.confirm().await?;
        match self.reader.entries.listing(user) {
            Some(listing) => Ok(listing),
            None => self.load(user).await,
        }
    }

    fn cached(&self, user: UserId) -> Option<Arc<Listing>> {
        if self.reader.trust.is_fresh() { self.reader.entries.listing(user) } else { None }
    }
}

/// Returns a listing with the stored state of one of its guilds, so that reading that guild was enough. `None` if the user's
/// own part has changed as well.
fn merged(listing: &Listing, guild: GuildId, stored: &Listing) -> Option<Listing> {
    let is_same_user = listing.blocked == stored.blocked
        && listing.grant == stored.grant
        && listing.subscription == stored.subscription
        && listing.staff == stored.staff;
    if !is_same_user {
        return None;
    }
    let others = listing.guilds.iter().filter(|seen| seen.guild.id != guild);
    // A subscription that names several guilds of the list is in both parts.
    let naming_others =
        listing.guild_subscriptions.iter().filter(|named| !named.guilds.as_slice().contains(&guild));
    Some(Listing {
        guilds: others.chain(&stored.guilds).cloned().collect(),
        guild_subscriptions: naming_others.chain(&stored.guild_subscriptions).cloned().collect(),
        ..stored.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::merged;
    use crate::{
        entries::{
            Entries,
            tests::{a_listing, entries},
        },
        key::Key,
    };
    use companion_domain::{
        change::Kind,
        model::StaffPermission,
        port::{GrantSummary, GrantVersion, Listing},
    };
    use companion_testkit::world::{a_subscription, guild_id, user_id};
    use std::sync::Arc;

    fn entries_with_a_listing() -> Entries {
        let entries = entries();
        entries.insert_listing(user_id(1), a_listing([1, 2]), 0);
        entries
    }

    #[test]
    fn reloads_one_guild_only_if_nothing_else_was_invalidated() {
        let entries = entries_with_a_listing();
        let changed = |entries: &Entries| entries.begin_load(user_id(1)).1.map(|(_, guild)| guild);
        assert_eq!(changed(&entries), None);
        entries.invalidate([Key::Guild(guild_id(2))]);
        assert_eq!(changed(&entries), Some(guild_id(2)));
        entries.invalidate_kind(Kind::Member);
        assert_eq!(changed(&entries), None, "any member may have other roles");
        let entries = entries_with_a_listing();
        entries.invalidate([Key::Guild(guild_id(1)), Key::Guild(guild_id(2))]);
        assert_eq!(changed(&entries), None, "two guilds");
        let entries = entries_with_a_listing();
        entries.invalidate([Key::Guild(guild_id(1)), Key::User(user_id(1))]);
        assert_eq!(changed(&entries), None, "the user too");
    }

    #[test]
    fn rejects_a_merge_if_the_users_own_part_changed() {
        let grant = GrantSummary { version: GrantVersion(1), renewable: false, list: None, profile: None };
        let merged = |stored: &Listing| merged(&Listing::default(), guild_id(1), stored);
        for stored in [
            Listing { blocked: true, ..Listing::default() },
            Listing { grant: Some(grant), ..Listing::default() },
            Listing { subscription: Some(Arc::new(a_subscription(1, &[]))), ..Listing::default() },
            Listing { staff: [StaffPermission::Support].into_iter().collect(), ..Listing::default() },
        ] {
            assert_eq!(merged(&stored), None, "{stored:?}");
        }
        assert_eq!(merged(&Listing::default()), Some(Listing::default()));
    }
}

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
        changed: &ChangedListing,
        position: u64,
    ) -> Option<Arc<Listing>> {
        let stored = self.inner.read(user, ListingScope::Guild(changed.guild)).await.ok()?;
        let listing = changed.with(&stored)?;
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
                && let Some(listing) = reader.reload_guild(user, &changed, position).await
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

/// A listing, and the only guild of it that has changed since it was read. Reloading that guild is enough.
pub(crate) struct ChangedListing {
    pub(crate) listing: Arc<Listing>,
    pub(crate) guild: GuildId,
}

impl ChangedListing {
    /// Returns the listing with the stored state of the guild. Returns `None` if the user's own part has changed as well.
    pub(crate) fn with(&self, stored: &Listing) -> Option<Listing> {
        let Self { listing, guild } = self;
        let Listing { blocked, grant, subscription, staff, guilds, guild_subscriptions } = stored;
        let same_user = listing.blocked == *blocked
            && listing.grant == *grant
            && listing.subscription == *subscription
            && listing.staff == *staff;
        if !same_user {
            return None;
        }
        let others = listing.guilds.iter().filter(|seen| seen.guild.id != *guild);
        // A subscription that names several guilds of the list is in both parts.
        let naming_others = listing
            .guild_subscriptions
            .iter()
            .filter(|guild_subscriptions| !guild_subscriptions.guilds.as_slice().contains(guild));
        Some(Listing {
            guilds: others.chain(guilds).cloned().collect(),
            guild_subscriptions: naming_others.chain(guild_subscriptions).cloned().collect(),
            blocked: *blocked,
            grant: grant.clone(),
            subscription: subscription.clone(),
            staff: *staff,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ChangedListing;
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
        let changed = |entries: &Entries| entries.begin_load(user_id(1)).1.map(|changed| changed.guild);
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
        let before = ChangedListing { listing: Arc::default(), guild: guild_id(1) };
        for stored in [
            Listing { blocked: true, ..Listing::default() },
            Listing { grant: Some(grant), ..Listing::default() },
            Listing { subscription: Some(Arc::new(a_subscription(1, &[]))), ..Listing::default() },
            Listing { staff: [StaffPermission::Support].into_iter().collect(), ..Listing::default() },
        ] {
            assert_eq!(before.with(&stored), None, "{stored:?}");
        }
        assert_eq!(before.with(&Listing::default()), Some(Listing::default()));
    }
}

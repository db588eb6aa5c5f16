//! The `Listings` port behind the cache. Each entry was read in one step, so no answer mixes old and new state.

use crate::{
    changed_listing::ChangedListing, entries::Entries, second_poll::second_poll, sessions::load_aborted,
    trust::Trust,
};
use async_trait::async_trait;
use companion_domain::{
    model::UserId,
    port::{Listing, ListingScope, Listings, StoreError},
    usecase::{SingleFlight, timeout},
};
use std::{sync::Arc, time::Duration};

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
            reader.entries.count_listing_load();
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

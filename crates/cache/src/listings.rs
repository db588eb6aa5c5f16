//! The `Listings` port behind the cache. Each entry was read in one step, so no answer mixes old and new state.

use crate::{
    entries::Entries,
    sessions::{load_aborted, second_poll},
    trust::Trust,
};
use async_trait::async_trait;
use companion_domain::{
    model::UserId,
    port::{Listing, ListingScope, Listings, StoreError},
    usecase::SingleFlight,
};
use std::sync::{Arc, atomic::Ordering::Relaxed};

/// The `Listings` port over cached entries.
pub(crate) struct CachedListings {
    pub(crate) inner: Arc<dyn Listings>,
    pub(crate) entries: Arc<Entries>,
    pub(crate) trust: Trust,
    pub(crate) loads: Loads,
}

type Loads = SingleFlight<(UserId, u64), Result<Arc<Listing>, StoreError>>;

impl CachedListings {
    async fn load(&self, user: UserId) -> Result<Arc<Listing>, StoreError> {
        second_poll().await;
        let position = self.entries.position();
        let (inner, entries) = (self.inner.clone(), self.entries.clone());
        let load = async move {
            entries.listing_loads.fetch_add(1, Relaxed);
            let listing = inner.read(user, ListingScope::List).await?;
            Ok(entries.insert_listing(user, listing, position))
        };
        // The position in the key keeps a request that begins after a change from joining a load that began before it.
        let loaded = self.loads.join(&*self.trust.scheduler, (user, position), load).await;
        loaded.unwrap_or_else(|| Err(load_aborted()))
    }
}

#[async_trait]
impl Listings for CachedListings {
    async fn read(&self, user: UserId, asked: ListingScope) -> Result<Arc<Listing>, StoreError> {
        if asked != ListingScope::List {
            return self.inner.read(user, asked).await;
        }
        self.trust.confirm().await?;
        match self.entries.listing(user).or_else(|| self.entries.renewed_listing(user)) {
            Some(listing) => Ok(listing),
            None => self.load(user).await,
        }
    }

    fn cached(&self, user: UserId) -> Option<Arc<Listing>> {
        if self.trust.is_fresh() { self.entries.listing(user) } else { None }
    }
}

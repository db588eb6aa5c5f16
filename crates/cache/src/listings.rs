//! What listings are made of, by user. Each copy was read in one step, so no answer mixes what was with what is.

use crate::{copies::Copies, second_poll::second_poll, sessions::broken_off, trust::Trust};
use async_trait::async_trait;
use companion_domain::{
    model::UserId,
    port::{Asked, Listing, Listings, Scheduler, StoreError},
    usecase::SingleFlight,
};
use std::sync::Arc;

/// Listings behind their copies.
pub(crate) struct CachedListings {
    pub(crate) inner: Arc<dyn Listings>,
    pub(crate) copies: Arc<Copies>,
    pub(crate) trust: Trust,
    pub(crate) scheduler: Arc<dyn Scheduler>,
    pub(crate) loads: Loads,
}

type Loads = SingleFlight<(UserId, u64), Result<Arc<Listing>, Arc<StoreError>>>;

impl CachedListings {
    async fn load(&self, user: UserId) -> Result<Arc<Listing>, StoreError> {
        second_poll().await;
        let position = self.copies.position();
        let (inner, copies) = (self.inner.clone(), self.copies.clone());
        let load = async move {
            copies.count_listing_load();
            let listing = inner.read(user, Asked::List).await?;
            Ok(copies.keep_listing(user, listing, position))
        };
        // Whoever asks after a change must not be served by a load from before it.
        let loaded = self.loads.join(&*self.scheduler, (user, position), load).await;
        loaded.unwrap_or_else(|| Err(broken_off())).map_err(|error| StoreError::new(error.kind, error))
    }
}

#[async_trait]
impl Listings for CachedListings {
    async fn read(&self, user: UserId, asked: Asked) -> Result<Arc<Listing>, StoreError> {
        if asked != Asked::List {
            return self.inner.read(user, asked).await;
        }
        self.trust.confirm().await?;
        match self.copies.listing(user) {
            Some(listing) => Ok(listing),
            None => self.load(user).await,
        }
    }

    fn at_hand(&self, user: UserId) -> Option<Arc<Listing>> {
        if self.trust.is_fresh() { self.copies.listing(user) } else { None }
    }
}

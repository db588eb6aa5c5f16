//! A thin implementation of each port; here over the change feed, listings and health.

mod fed;
mod people;
mod settings;

use crate::state::MemoryStorage;
use async_trait::async_trait;
use companion_domain::{
    change::{Changes, Revision},
    model::UserId,
    port::{ChangeFeed, Health, Listing, ListingScope, Listings, StoreError},
};
use std::sync::Arc;

#[async_trait]
impl ChangeFeed for MemoryStorage {
    async fn latest(&self) -> Result<Revision, StoreError> {
        Ok(self.read().history.latest())
    }

    async fn since(&self, revision: Revision) -> Result<Changes, StoreError> {
        Ok(self.read().history.since(revision))
    }

    async fn wait_for_change(&self, revision: Revision) {
        self.wait_for_other(revision).await;
    }
}

#[async_trait]
impl Listings for MemoryStorage {
    async fn read(&self, user: UserId, asked: ListingScope) -> Result<Arc<Listing>, StoreError> {
        Ok(Arc::new(self.read().listing(user, asked)))
    }
}

#[async_trait]
impl Health for MemoryStorage {
    async fn check(&self) -> Result<(), StoreError> {
        // Memory is healthy as long as it can be read, because its writes never fail.
        drop(self.read());
        Ok(())
    }
}

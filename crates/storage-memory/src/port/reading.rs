//! Ports over the change feed, listings and health.

use crate::state::{MemoryStorage, Tables};
use async_trait::async_trait;
use companion_domain::{
    change::{Changes, Revision},
    model::UserId,
    port::{ChangeFeed, GrantSummary, Health, Listing, ListingScope, Listings, StoreError},
};
use std::sync::Arc;

#[async_trait]
impl ChangeFeed for MemoryStorage {
    async fn latest(&self) -> Result<Revision, StoreError> {
        Ok(self.read().history().latest())
    }

    async fn since(&self, revision: Revision) -> Result<Changes, StoreError> {
        Ok(self.read().history().since(revision))
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

impl Tables {
    pub(crate) fn listing(&self, user: UserId, asked: ListingScope) -> Listing {
        let grant = self.grants.find(user).map(GrantSummary::from);
        let asked = asked.guilds(grant.as_ref());
        Listing {
            blocked: self.blocked.get(&user).is_some(),
            guilds: self.guilds.with_roles(user, &asked),
            guild_subscriptions: self.subscriptions.guild_subscriptions(&asked),
            subscription: self.subscriptions.of_user(user),
            staff: self.staff.get(&user).copied().unwrap_or_default(),
            grant,
        }
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

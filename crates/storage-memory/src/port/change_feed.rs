//! The history of changes, and whoever waits for the next.

use crate::state::MemoryStorage;
use async_trait::async_trait;
use companion_domain::{
    change::{Changes, Revision},
    port::{ChangeFeed, StoreError},
};

#[async_trait]
impl ChangeFeed for MemoryStorage {
    async fn latest(&self) -> Result<Revision, StoreError> {
        Ok(self.read().history().latest())
    }

    async fn since(&self, revision: Revision) -> Result<Changes, StoreError> {
        Ok(self.read().history().since(revision))
    }

    async fn news(&self, revision: Revision) {
        self.moved_from(revision).await;
    }
}

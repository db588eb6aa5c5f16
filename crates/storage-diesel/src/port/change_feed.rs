//! The history of changes, and whoever waits for the next.

use crate::{storage::DieselStorage, table::history};
use async_trait::async_trait;
use companion_domain::{
    change::{Changes, Revision},
    port::{ChangeFeed, StoreError},
};

#[async_trait]
impl ChangeFeed for DieselStorage {
    async fn latest(&self) -> Result<Revision, StoreError> {
        self.read(history::latest).await
    }

    async fn since(&self, revision: Revision) -> Result<Changes, StoreError> {
        let unreadable = self.unreadable();
        self.snapshot(move |db| history::since(db, revision, &unreadable)).await
    }

    async fn news(&self, revision: Revision) {
        // What another process writes to the same file wakes nobody here; readers find it when they ask.
        self.writer().status().latest.newer_than(revision).await;
    }
}

//! Everything at once. What such a write has changed only the feed knows.

use crate::copies::Copies;
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::UserId,
    port::{Record, RecordSink, RecordSource, Replace, StoreError, SyncError, WorldStore},
    usecase::Following,
};
use std::sync::Arc;

/// The world, and the feed that leads the copies after a change to it.
pub(crate) struct ToldWorld {
    pub(crate) inner: Arc<dyn WorldStore>,
    pub(crate) copies: Arc<Copies>,
    pub(crate) following: Arc<Following>,
}

impl ToldWorld {
    async fn show(&self) {
        if self.following.catch_up().await.is_err() {
            self.copies.tell_every_session();
            self.copies.drop_all_listings();
        }
    }
}

#[async_trait]
impl WorldStore for ToldWorld {
    async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Tally, SyncError> {
        let synced = self.inner.sync(replace, source).await;
        self.show().await;
        synced
    }

    async fn export(&self, sink: &mut dyn RecordSink) -> Result<(), SyncError> {
        self.inner.export(sink).await
    }

    async fn about(&self, user: UserId) -> Result<Vec<Record>, StoreError> {
        self.inner.about(user).await
    }

    async fn forget(&self, user: UserId) -> Result<Tally, StoreError> {
        let forgotten = self.inner.forget(user).await;
        self.show().await;
        forgotten
    }
}

//! Everything at once: a sync, an export, and forgetting a user.

use crate::{
    export,
    failure::Failure,
    storage::DieselStorage,
    sync,
    table::{feedback, grants, members, sessions, staff, subscriptions, write::Write},
};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::UserId,
    port::{RecordSink, RecordSource, Replace, StoreError, SyncError, WorldStore},
};

/// Removes what is kept of a user, but for a block and a place in the team.
fn forget(write: &mut Write<'_>, user: UserId) -> Result<Tally, Failure> {
    let mut tally = sessions::forget(write, user)?;
    tally += grants::remove(write, user)?;
    tally += members::forget(write, user)?;
    tally += staff::remove(write, user)?;
    tally += subscriptions::remove(write, user)?;
    tally += feedback::forget(write, user)?;
    Ok(tally)
}

#[async_trait]
impl WorldStore for DieselStorage {
    async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Tally, SyncError> {
        sync::run(self, replace, source).await
    }

    async fn export(&self, sink: &mut dyn RecordSink) -> Result<(), SyncError> {
        export::run(self, sink).await
    }

    async fn forget(&self, user: UserId) -> Result<Tally, StoreError> {
        self.write(move |write| forget(write, user)).await
    }
}

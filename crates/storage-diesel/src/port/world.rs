//! Everything at once: a sync, an export, and telling and forgetting what there is of a user.

use crate::{
    connection::AnyConnection,
    export,
    failure::Failure,
    storage::DieselStorage,
    sync,
    table::{
        feedback, grants, members, sessions, staff, subscriptions, unreadable::Unreadable, write::Write,
    },
};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::UserId,
    port::{Record, RecordSink, RecordSource, Replace, StoreError, SyncError, WorldStore},
};

/// What forgetting a user would remove.
fn about(db: &mut AnyConnection, user: UserId, unreadable: &Unreadable) -> Result<Vec<Record>, Failure> {
    let sessions = unreadable.all(sessions::of_user(db, user)?);
    let mut records: Vec<_> = sessions.into_iter().map(Record::Session).collect();
    match grants::find(db, user, unreadable) {
        Err(Failure::Row(_)) => {}
        found => records.extend(found?.map(|grant| Record::Grant(user, grant))),
    }
    records.extend(members::of_user(db, user, unreadable)?.into_iter().map(Record::Member));
    records.extend(staff::grants(db, user, unreadable)?.map(|grants| Record::Staff(user, grants)));
    let subscription = subscriptions::of_user(db, user, unreadable)?;
    records.extend(subscription.map(|kept| Record::Subscription((*kept).clone())));
    records.extend(feedback::of_submitter(db, user, unreadable)?.into_iter().map(Record::Feedback));
    Ok(records)
}

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
        sync::run(self, replace, source, sync::Fate::Kept).await
    }

    async fn export(&self, sink: &mut dyn RecordSink) -> Result<(), SyncError> {
        export::run(self, sink).await
    }

    async fn about(&self, user: UserId) -> Result<Vec<Record>, StoreError> {
        let unreadable = self.unreadable();
        self.snapshot(move |db| about(db, user, &unreadable)).await
    }

    async fn forget(&self, user: UserId) -> Result<Tally, StoreError> {
        self.write(move |write| forget(write, user)).await
    }
}

//! Permissions granted by name.

use super::removed;
use crate::{
    connection::AnyConnection,
    failure::Failure,
    row::{snowflake::to_column, staff::StaffRow},
    schema::staff,
    storage::DieselStorage,
    writer::Write,
};
use async_trait::async_trait;
use companion_domain::{
    change::{Subject, Tally},
    model::{StaffGrants, UserId},
    port::{StaffDirectory, StoreError},
};
use diesel::{OptionalExtension, QueryDsl, QueryResult, RunQueryDsl, SelectableHelper};

fn find(db: &mut AnyConnection, user: UserId) -> QueryResult<Option<StaffRow>> {
    staff::table.find(to_column(user)).select(StaffRow::as_select()).first(db).optional()
}

/// Takes everything back from a user.
pub(super) fn remove(write: &mut Write<'_>, user: UserId) -> Result<Tally, Failure> {
    let gone = diesel::delete(staff::table.find(to_column(user))).execute(write.db)?;
    Ok(write.noted(removed(gone), || Subject::Staff(user)))
}

#[async_trait]
impl StaffDirectory for DieselStorage {
    async fn grants(&self, user: UserId) -> Result<Option<StaffGrants>, StoreError> {
        let unreadable = self.unreadable();
        self.read(move |db| {
            let grants: Option<(UserId, _)> = find(db, user)?.and_then(|row| unreadable.one(row));
            Ok(grants.map(|(_, grants)| grants))
        })
        .await
    }

    async fn put(&self, user: UserId, grants: StaffGrants) -> Result<Tally, StoreError> {
        let row = StaffRow::from((user, grants));
        self.write(move |write| {
            let tally = match find(write.db, user)? {
                Some(kept) if kept == row => Tally::NOTHING,
                Some(_) => {
                    diesel::update(staff::table.find(row.user_id)).set(&row).execute(write.db)?;
                    Tally::CHANGED
                }
                None => {
                    diesel::insert_into(staff::table).values(&row).execute(write.db)?;
                    Tally::ADDED
                }
            };
            Ok(write.noted(tally, || Subject::Staff(user)))
        })
        .await
    }

    async fn remove(&self, user: UserId) -> Result<Tally, StoreError> {
        self.write(move |write| remove(write, user)).await
    }
}

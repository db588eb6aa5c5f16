//! Blocked users.

use super::removed;
use crate::{connection::AnyConnection, row::snowflake::to_column, schema::blocked, storage::DieselStorage};
use async_trait::async_trait;
use companion_domain::{
    change::{Subject, Tally},
    model::UserId,
    port::{BlockList, StoreError},
};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, RunQueryDsl};

fn is_blocked(db: &mut AnyConnection, user: UserId) -> QueryResult<bool> {
    let row: Option<i64> =
        blocked::table.find(to_column(user)).select(blocked::user_id).first(db).optional()?;
    Ok(row.is_some())
}

#[async_trait]
impl BlockList for DieselStorage {
    async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError> {
        self.read(move |db| Ok(is_blocked(db, user)?)).await
    }

    async fn block(&self, user: UserId) -> Result<Tally, StoreError> {
        self.write(move |write| {
            if is_blocked(write.db, user)? {
                return Ok(Tally::NOTHING);
            }
            let row = blocked::user_id.eq(to_column(user));
            diesel::insert_into(blocked::table).values(row).execute(write.db)?;
            Ok(write.noted(Tally::ADDED, || Subject::Blocked(user)))
        })
        .await
    }

    async fn unblock(&self, user: UserId) -> Result<Tally, StoreError> {
        self.write(move |write| {
            let gone = diesel::delete(blocked::table.find(to_column(user))).execute(write.db)?;
            Ok(write.noted(removed(gone), || Subject::Blocked(user)))
        })
        .await
    }
}

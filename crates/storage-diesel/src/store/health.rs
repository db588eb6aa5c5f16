//! Whether the storage is fit to serve.

use crate::{error::Failure, schema::history, storage::DieselStorage};
use async_trait::async_trait;
use companion_domain::port::{Health, StoreError};
use diesel::{ExpressionMethods, RunQueryDsl};

#[async_trait]
impl Health for DieselStorage {
    async fn check(&self) -> Result<(), StoreError> {
        let complete = self.read(|db| Ok(db.has_complete_schema()?)).await?;
        if !complete {
            return Err(StoreError::unavailable("the schema is not the one that this version works with"));
        }
        // It changes nothing, but goes all the way to the disk.
        self.write(|write| {
            let rows = diesel::update(history::table)
                .set(history::revision.eq(history::revision))
                .execute(write.db)?;
            if rows == 1 { Ok(()) } else { Err(Failure::Row { table: "history", column: "id" }) }
        })
        .await
    }
}

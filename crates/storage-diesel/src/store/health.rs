//! Whether the storage is fit to serve.

use crate::{error::Failure, schema::history, storage::DieselStorage};
use async_trait::async_trait;
use companion_domain::port::{Health, StoreError};
use diesel::{ExpressionMethods, RunQueryDsl};
use std::sync::Arc;

#[async_trait]
impl Health for DieselStorage {
    async fn check(&self) -> Result<(), StoreError> {
        let database = Arc::clone(self.database());
        let (file, complete) =
            self.read(move |db| Ok((database.check_file(), db.has_complete_schema()?))).await?;
        file.map_err(StoreError::unavailable)?;
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

//! Whether the storage is fit to serve.

use crate::{storage::DieselStorage, table::probe};
use async_trait::async_trait;
use companion_domain::port::{Health, StoreError};
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
        let failure = self.database().damage().or_else(|| self.writer().status().last_failure());
        match failure {
            None => Ok(()),
            // Whatever it was may be over.
            Some(reason) => self
                .write_urgently(|write| Ok(probe::write_probe(write.db)?))
                .await
                .map_err(|_| StoreError::unavailable(format!("the last write failed: {reason}"))),
        }
    }
}

//! Whether the store is fit to serve.

use crate::state::MemoryStorage;
use async_trait::async_trait;
use companion_domain::port::{Health, StoreError};

#[async_trait]
impl Health for MemoryStorage {
    async fn check(&self) -> Result<(), StoreError> {
        // Memory is fit as long as it can be read, for no write of it ever failed.
        drop(self.read());
        Ok(())
    }
}
